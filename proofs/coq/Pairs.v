(* T.oa1: OA1 on episodes of at most two steps, with ties to push, comes to the best history-based value. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Improvement Ties Histories Push.
Import ListNotations.
Open Scope R_scope.

(* the loop with a choice among greedy actions: `choice pi o g` says which may be taken *)
Definition is_step_by {P : pomdp} (T : nat) (eps : R) (choice : policy P -> obs P -> act P -> Prop)
  (pi pi' : policy P) : Prop :=
  forall o, (visits T pi o <= 0 /\ forall a, pi' o a = pi o a) \/
            (0 < visits T pi o /\ exists g, is_greedy T pi o g /\ choice pi o g /\ forall a,
               pi' o a = (1 - eps) * pi o a + eps * (if act_dec P a g then 1 else 0)).
Definition is_run_by {P : pomdp} T eps choice (pi : policy P) (run : nat -> policy P) : Prop :=
  run 0%nat = pi /\ forall n, is_step_by T eps choice (run n) (run (S n)).
(* ties go to push: keep is taken only if it is better than every push; to keep: the other way round *)
Definition ties_to {P : pomdp} (T : nat) (w w' : hold) (pi : policy (augment P (OA1 P)))
  (o : obs (augment P (OA1 P))) (g : act (augment P (OA1 P))) : Prop :=
  snd g = w' -> forall a, In a (acts P) -> q T pi o (a, w) < q T pi o g.
Definition ties_to_push {P : pomdp} (T : nat) := ties_to (P := P) T Push Keep.
Definition ties_to_keep {P : pomdp} (T : nat) := ties_to (P := P) T Keep Push.
Lemma step_by_step {P : pomdp} T eps choice (pi pi' : policy P) :
  is_step_by T eps choice pi pi' -> is_step T eps pi pi'.
Proof. intros S o. destruct (S o) as [H|(V & g & G & _ & K)]; [left; auto|right]. split; auto. exists g; auto. Qed.

Lemma two_writes c x y x' y' : c * (x * y + (x' * y' + 0)) = x * (c * y) + x' * (c * y').
Proof. ring. Qed.
Section Two.
Variable P : pomdp.
Hypothesis HP : is_pomdp P.
Hypothesis ends : horizon P 2.
Notation E := (augment P (OA1 P)).
Notation M := (option (obs P * act P)).
Notation write1 := (fun (m : M) (w : hold) (o : obs P) (a : act P) => match w with Keep => m | Push => Some (o, a) end).
Notation Mdec := (option_dec (pair_dec (obs_dec P) (act_dec P))).
Implicit Types (pi : policy E) (o : obs P) (a b : act P) (m : M) (w : hold) (s : state P).

(* what is done in row (m, o) *)
Definition doing pi (m : M) o a (w : hold) : R := pi (m, o) (a, w).
Definition does_act pi (m : M) o a : R := doing pi m o a Keep + doing pi m o a Push.
Definition visit pi (m : M) o : R := visits (P := E) 2 pi (m, o).
Definition qv pi (m : M) o a (w : hold) : R := q (P := E) 2 pi (m, o) (a, w).
Notation B := (fun o a => pays P [(o, a)]).

Lemma E_pomdp : is_pomdp E.
Proof.
  apply augment_is_pomdp; auto. apply det_is_memory; [|discriminate].
  repeat constructor; simpl; intuition discriminate.
Qed.
Lemma in_acts a w : In a (acts P) -> In (a, w) (acts E).
Proof. intros H. apply (in_prod (acts P) [Keep; Push]); auto. destruct w; simpl; auto. Qed.
Lemma acts_in a w : In (a, w) (acts E) -> In a (acts P).
Proof. intros H. apply (in_prod_iff (acts P) [Keep; Push]) in H. tauto. Qed.
Lemma does_sum pi m o : is_policy pi -> sum (acts P) (does_act pi m o) = 1.
Proof.
  intros H. destruct (H (m, o)) as [_ S].
  transitivity (sum (acts E) (pi (m, o))); [|exact S].
  etransitivity; [|symmetry; apply (sum_det P M hold [Keep; Push] write1 None Mdec hold_dec)].
  apply sum_ext. intros a. unfold does_act, doing. simpl. ring.
Qed.
Lemma doing_pos pi m o a w : is_policy pi -> In a (acts P) -> 0 <= doing pi m o a w.
Proof. intros H Ha. apply H. apply in_acts; auto. Qed.

(** * The second step *)

Lemma second_ends o a : In a (acts P) -> forall y, In y (behind P [(o, a)]) ->
  terminal P (fst y) = true \/ forall b z, In b (acts P) -> In z (p P (fst y) b) -> terminal P (fst (fst z)) = true.
Proof.
  intros Ha y Hy. assert (H : ends_in P 1 (fst y)).
  { apply (behind_ends P 1 ends [(o, a)]); auto. intros z [<-|[]]. auto. }
  destruct H as [H|H]; [left; auto|right]. intros b z Hb Hz. specialize (H b z Hb Hz). destruct H as [H|[]]. auto.
Qed.
Lemma second_q pi n o a m o' b w : In a (acts P) -> In b (acts P) ->
  mean (behind P [(o, a)]) (fun s => sees s o' * qn (P := E) pi n (s, m, o') (b, w)) = B o a o' b.
Proof.
  intros Ha Hb. unfold pays. apply mean_ext_in. intros y Hy. unfold sees.
  destruct (second_ends o a Ha y Hy) as [T|T]; [rewrite T; ring|].
  destruct (terminal P (fst y)); [ring|]. f_equal. unfold qn.
  rewrite (next_det P M hold [Keep; Push] write1 None Mdec hold_dec). apply mean_ext_in. intros z Hz.
  transitivity (mean (omega P (fst (fst z))) (fun _ => snd (fst z))); [|apply mean_const, (omega_dist P HP)].
  apply mean_ext. intros o''. rewrite (vn_end_det P M hold [Keep; Push] write1 None Mdec hold_dec); [ring|].
  apply (T b); auto.
Qed.
Lemma second_v pi n o a m o' : In a (acts P) ->
  mean (behind P [(o, a)]) (fun s => sees s o' * vn (P := E) pi (S n) (s, m, o'))
  = sum (acts P) (fun b => does_act pi m o' b * B o a o' b).
Proof.
  intros Ha.
  transitivity (mean (behind P [(o, a)]) (fun s => sum (acts P) (fun b =>
    doing pi m o' b Keep * (sees s o' * qn (P := E) pi n (s, m, o') (b, Keep)) +
    doing pi m o' b Push * (sees s o' * qn (P := E) pi n (s, m, o') (b, Push))))).
  - apply mean_ext. intros s. cbn [vn]. rewrite (backup_det P M hold [Keep; Push] write1 None Mdec hold_dec).
    unfold sees. destruct (terminal P s).
    + rewrite Rmult_0_l. symmetry. apply sum_zero. intros; ring.
    + rewrite <- sum_scal. apply sum_ext. intros b. apply two_writes.
  - rewrite mean_sum. apply sum_ext_in. intros b Hb. rewrite mean_plus, !mean_scal, !second_q by auto.
    unfold does_act. ring.
Qed.

(** * The first step *)

(* what follows a write: the row of the pair after a push, the shared row after a keep *)
Definition after_write pi w : pairs P -> obs P -> R := fun l o' =>
  match l with
  | (o, a) :: _ => sum (acts P) (fun b => does_act pi (write1 None w o a) o' b * B o a o' b)
  | [] => 0
  end.
Lemma first_q pi n o a w : In a (acts P) ->
  mean (behind P []) (fun s => sees s o * qn (P := E) pi (S n) (s, None, o) (a, w)) = due P (after_write pi w) [] o a.
Proof.
  intros Ha. apply (due_det P M hold [Keep; Push] write1 None Mdec hold_dec HP pi (S n) [] None o a w).
  intros o'. apply second_v; auto.
Qed.
Definition worth_of pi o : R := sum (acts P) (fun a =>
  doing pi None o a Keep * due P (after_write pi Keep) [] o a + doing pi None o a Push * due P (after_write pi Push) [] o a).
Lemma value_two pi : value_n (P := E) pi 2 = sum (rows P []) (worth_of pi).
Proof.
  unfold value_n. rewrite (mean_mu P M hold [Keep; Push] write1 None Mdec hold_dec).
  transitivity (mean (behind P []) (fun s => if terminal P s then 0 else
    mean (omega P s) (fun o => vn (P := E) pi 2 (s, None, o)))).
  - apply mean_ext. intros s. destruct (terminal P s) eqn:T; auto.
    transitivity (mean (omega P s) (fun _ => 0)); [|apply mean_zero].
    apply mean_ext. intros o. apply (vn_end_det P M hold [Keep; Push] write1 None Mdec hold_dec); auto.
  - rewrite (by_rows P [] (fun s o => vn (P := E) pi 2 (s, None, o))). apply sum_ext. intros o.
    transitivity (mean (behind P []) (fun s => sum (acts P) (fun a =>
      doing pi None o a Keep * (sees s o * qn (P := E) pi 1 (s, None, o) (a, Keep)) +
      doing pi None o a Push * (sees s o * qn (P := E) pi 1 (s, None, o) (a, Push))))).
    + apply mean_ext. intros s. change (vn (P := E) pi 2) with (backup (P := E) pi (vn (P := E) pi 1)).
      rewrite (backup_det P M hold [Keep; Push] write1 None Mdec hold_dec).
      unfold sees. destruct (terminal P s).
      * rewrite Rmult_0_l. symmetry. apply sum_zero. intros; ring.
      * rewrite <- sum_scal. apply sum_ext. intros b. apply two_writes.
    + rewrite mean_sum. apply sum_ext_in. intros a Ha. rewrite mean_plus, !mean_scal, !first_q by auto. auto.
Qed.

(** * Visits *)

Lemma expect_zero_two pi (F : state E -> R) m o : (forall s x o', F (s, x, o') = if Mdec x m then
    (if terminal P s then 0 else if obs_dec P o' o then F (s, m, o) else 0) else 0) ->
  expect (P := E) pi 0 F = if Mdec None m then mean (behind P []) (fun s => sees s o * F (s, m, o)) else 0.
Proof.
  intros HF. simpl expect. rewrite (mean_mu P M hold [Keep; Push] write1 None Mdec hold_dec).
  destruct (Mdec None m) as [X|X].
  - apply mean_ext. intros s. unfold sees. destruct (terminal P s) eqn:T.
    + rewrite Rmult_0_l. transitivity (mean (omega P s) (fun _ => 0)); [|apply mean_zero].
      apply mean_ext. intros o'. rewrite HF, T. destruct (Mdec None m); auto.
    + unfold prob. rewrite <- mean_scal_r. apply mean_ext. intros o'. rewrite HF, T.
      destruct (Mdec None m) as [_|]; [|contradiction]. destruct (obs_dec P o' o); ring.
  - transitivity (mean (mu P) (fun _ => 0)); [|apply mean_zero]. apply mean_ext. intros s.
    transitivity (mean (omega P s) (fun _ => 0)); [|apply mean_zero]. apply mean_ext. intros o'.
    rewrite HF. destruct (Mdec None m); [contradiction|auto].
Qed.
Lemma expect_one_two pi (F : state E -> R) m o' : (forall s x o, F (s, x, o) = if Mdec x m then
    (if terminal P s then 0 else if obs_dec P o o' then F (s, m, o') else 0) else 0) ->
  expect (P := E) pi 1 F = sum (rows P []) (fun o => sum (acts P) (fun a => sum [Keep; Push] (fun w =>
    doing pi None o a w * (if Mdec (write1 None w o a) m then
      mean (behind P [(o, a)]) (fun s => sees s o' * F (s, m, o')) else 0)))).
Proof.
  intros HF. change (expect (P := E) pi 1 F) with (expect (P := E) pi 0 (go (P := E) pi F)).
  simpl expect. rewrite (mean_mu P M hold [Keep; Push] write1 None Mdec hold_dec).
  transitivity (mean (behind P []) (fun s => if terminal P s then 0 else mean (omega P s) (fun o =>
    sum (acts P) (fun a => sum [Keep; Push] (fun w => doing pi None o a w *
      mean (p P s a) (fun y => mean (omega P (fst y)) (fun o'' => F (fst y, write1 None w o a, o'')))))))).
  - apply mean_ext. intros s. destruct (terminal P s) eqn:T.
    + transitivity (mean (omega P s) (fun _ => 0)); [|apply mean_zero]. apply mean_ext. intros o.
      rewrite (go_det P M hold [Keep; Push] write1 None Mdec hold_dec), T. auto.
    + apply mean_ext. intros o. rewrite (go_det P M hold [Keep; Push] write1 None Mdec hold_dec), T. auto.
  - rewrite (by_rows P [] (fun s o => sum (acts P) (fun a => sum [Keep; Push] (fun w => doing pi None o a w *
      mean (p P s a) (fun y => mean (omega P (fst y)) (fun o'' => F (fst y, write1 None w o a, o''))))))).
    apply sum_ext. intros o.
    rewrite (mean_ext _ _ (fun s => sum (acts P) (fun a => sum [Keep; Push] (fun w => doing pi None o a w *
      (sees s o * mean (p P s a) (fun y => mean (omega P (fst y)) (fun o'' => F (fst y, write1 None w o a, o'')))))))).
    2:{ intros s. rewrite <- sum_scal. apply sum_ext. intros a. rewrite <- sum_scal. apply sum_ext. intros w.
        apply Rmult_swap. }
    rewrite mean_sum. apply sum_ext. intros a. rewrite mean_sum. apply sum_ext. intros w. rewrite mean_scal. f_equal.
    rewrite <- (behind_cons P [] o a (fun s => mean (omega P s) (fun o'' => F (s, write1 None w o a, o'')))).
    destruct (Mdec (write1 None w o a) m) as [X|X].
    + apply mean_ext. intros s. unfold sees. destruct (terminal P s) eqn:T.
      * rewrite Rmult_0_l. transitivity (mean (omega P s) (fun _ => 0)); [|apply mean_zero].
        apply mean_ext. intros o''. rewrite HF, T. destruct (Mdec (write1 None w o a) m); auto.
      * unfold prob. rewrite <- mean_scal_r. apply mean_ext. intros o''. rewrite HF, T.
        destruct (Mdec (write1 None w o a) m) as [_|]; [|contradiction]. destruct (obs_dec P o'' o'); ring.
    + transitivity (mean (behind P [(o, a)]) (fun _ => 0)); [|apply mean_zero]. apply mean_ext. intros s.
      transitivity (mean (omega P s) (fun _ => 0)); [|apply mean_zero]. apply mean_ext. intros o''.
      rewrite HF. destruct (Mdec (write1 None w o a) m); [contradiction|auto].
Qed.
(* visits of a row times the mean of f over them *)
Definition seen pi (m : M) o (f : state E -> R) : R := behind_n (P := E) 1 pi 2 (m, o) f.
Lemma seen_by_time pi m o f : seen pi m o f =
  (if Mdec None m then mean (behind P []) (fun s => sees s o * f (s, m, o)) else 0) +
  sum (rows P []) (fun o1 => sum (acts P) (fun a => sum [Keep; Push] (fun w =>
    doing pi None o1 a w * (if Mdec (write1 None w o1 a) m then
      mean (behind P [(o1, a)]) (fun s => sees s o * f (s, m, o)) else 0)))).
Proof.
  set (F := fun s : state E => sees (P := E) s (m, o) * f s).
  assert (HF : forall s x o', F (s, x, o') = if Mdec x m then
    (if terminal P s then 0 else if obs_dec P o' o then F (s, m, o) else 0) else 0).
  { intros s x o'. unfold F. rewrite !(sees_det P M hold [Keep; Push] write1 None Mdec hold_dec).
    destruct (Mdec x m) as [->|]; [|ring]. destruct (terminal P s); [ring|].
    destruct (obs_dec P o' o) as [->|]; [|ring].
    destruct (Mdec m m), (obs_dec P o o); auto; contradiction. }
  assert (HS : forall d : dist (state P), mean d (fun s => sees s o * F (s, m, o)) = mean d (fun s => sees s o * f (s, m, o))).
  { intros d. apply mean_ext. intros s. unfold F. rewrite (sees_det P M hold [Keep; Push] write1 None Mdec hold_dec).
    destruct (Mdec m m), (obs_dec P o o); try contradiction. unfold sees. destruct (terminal P s); ring. }
  transitivity (expect (P := E) pi 0 F + expect (P := E) pi 1 F).
  { unfold seen, behind_n, sumn. simpl seq. cbn [sum]. unfold F. simpl pow. ring. }
  rewrite (expect_zero_two pi F m o HF), (expect_one_two pi F m o HF). f_equal.
  - destruct (Mdec None m); auto.
  - apply sum_ext. intros o1. apply sum_ext. intros a. apply sum_ext. intros w. f_equal.
    destruct (Mdec (write1 None w o1 a) m); auto.
Qed.
Lemma seen_none pi o f : seen pi None o f = mean (behind P []) (fun s => sees s o * f (s, None, o)) +
  sum (rows P []) (fun o1 => sum (acts P) (fun a =>
    doing pi None o1 a Keep * mean (behind P [(o1, a)]) (fun s => sees s o * f (s, None, o)))).
Proof.
  rewrite seen_by_time. f_equal. apply sum_ext. intros o1. apply sum_ext. intros a. simpl. ring.
Qed.
Lemma seen_some pi o a o' f : In o (rows P []) -> In a (acts P) ->
  seen pi (Some (o, a)) o' f = doing pi None o a Push * mean (behind P [(o, a)]) (fun s => sees s o' * f (s, Some (o, a), o')).
Proof.
  intros Ho Ha. rewrite seen_by_time. simpl (Mdec None (Some (o, a))). cbv iota. rewrite Rplus_0_l.
  set (X := doing pi None o a Push * mean (behind P [(o, a)]) (fun s => sees s o' * f (s, Some (o, a), o'))).
  transitivity (sum (rows P []) (fun o1 => if obs_dec P o1 o then X else 0)).
  - apply sum_ext. intros o1.
    transitivity (sum (acts P) (fun a1 => if act_dec P a1 a then (if obs_dec P o1 o then X else 0) else 0)).
    + apply sum_ext. intros a1. cbn [sum]. cbv beta iota.
      destruct (Mdec None (Some (o, a))) as [N|_]; [discriminate|].
      destruct (Mdec (Some (o1, a1)) (Some (o, a))) as [Eq|Ne].
      * injection Eq as -> ->. destruct (act_dec P a a), (obs_dec P o o); try contradiction. unfold X. ring.
      * destruct (act_dec P a1 a) as [->|]; [|ring]. destruct (obs_dec P o1 o) as [->|]; [contradiction|ring].
    + apply (sum_if (act_dec P) (acts P) a (fun _ => if obs_dec P o1 o then X else 0)); auto. apply HP.
  - apply (sum_if (obs_dec P) (rows P []) o (fun _ => X)); auto. apply NoDup_nodup.
Qed.
Lemma visit_seen pi m o : visit pi m o = seen pi m o (fun _ => 1).
Proof. apply sum_ext. intros t. f_equal. apply expect_ext. intros; ring. Qed.
Lemma qv_seen pi m o a w : qv pi m o a w = seen pi m o (fun e => qn (P := E) pi 2 e (a, w)) / visit pi m o.
Proof. reflexivity. Qed.

(* what second visits of the shared row add *)
Definition kept pi o a : R := sum (rows P []) (fun o1 => sum (acts P) (fun a1 => doing pi None o1 a1 Keep * B o1 a1 o a)).
Lemma q_none pi o a w : In a (acts P) ->
  qv pi None o a w = (due P (after_write pi w) [] o a + kept pi o a) / visit pi None o.
Proof.
  intros Ha. rewrite qv_seen, seen_none. f_equal. f_equal; [apply first_q; auto|].
  apply sum_ext. intros o1. apply sum_ext_in. intros a1 Ha1. f_equal. apply second_q; auto.
Qed.
Lemma visit_some pi o a o' : In o (rows P []) -> In a (acts P) ->
  visit pi (Some (o, a)) o' = doing pi None o a Push * chance P [(o, a)] o'.
Proof.
  intros Ho Ha. rewrite visit_seen, seen_some by auto. f_equal. apply mean_ext. intros; ring.
Qed.
Lemma q_some pi o a o' b w : In o (rows P []) -> In a (acts P) -> In b (acts P) ->
  qv pi (Some (o, a)) o' b w = doing pi None o a Push * B o a o' b / visit pi (Some (o, a)) o'.
Proof.
  intros Ho Ha Hb. rewrite qv_seen, seen_some by auto. do 2 f_equal. apply second_q; auto.
Qed.
Lemma visit_none pi o : is_policy pi -> chance P [] o <= visit pi None o.
Proof.
  intros H. rewrite visit_seen, seen_none.
  rewrite (mean_ext (behind P []) _ (fun s => sees s o)) by (intros; ring). fold (chance P [] o).
  assert (0 <= sum (rows P []) (fun o1 => sum (acts P) (fun a => doing pi None o1 a Keep *
    mean (behind P [(o1, a)]) (fun s => sees s o * 1)))); [|lra].
  apply sum_nonneg. intros o1 _. apply sum_nonneg. intros a Ha. apply Rmult_le_pos; [apply doing_pos; auto|].
  apply Rle_trans with (chance P [(o1, a)] o); [apply chance_nonneg; auto|].
  right. apply mean_ext. intros; ring.
Qed.

(** * The iterates *)

Definition L : R := INR (length (acts P)).
Lemma L_pos : 0 < L.
Proof. pose proof (acts_some P HP). apply lt_0_INR. destruct (acts P); [contradiction|simpl; lia]. Qed.
(* the last step of uniform, and the best one *)
Definition flat (l : pairs P) o : R := sum (acts P) (fun b => / L * pays P l o b).
Definition high := top P 1.
Lemma high_is l o : exists b, In b (acts P) /\ high l o = pays P l o b /\ forall a, In a (acts P) -> pays P l o a <= high l o.
Proof.
  destruct (some_act P HP) as [c Hc]. destruct (top_is P 0 l o c Hc) as (T & I & G).
  assert (D : forall a, due P (top P 0) l o a = pays P l o a).
  { intros a. unfold due. rewrite (sum_zero _ (top P 0 ((o, a) :: l))); [ring|]. intros; reflexivity. }
  exists (best_act P 0 l o c). split; auto. unfold high. split; [rewrite T; apply D|].
  intros a Ha. rewrite <- D. auto.
Qed.
Lemma flat_high l o : flat l o <= high l o.
Proof.
  destruct (high_is l o) as (_ & _ & _ & G). unfold flat. rewrite sum_scal.
  apply Rmult_le_reg_l with L; [apply L_pos|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by (pose proof L_pos; lra).
  unfold L. rewrite <- sum_const. apply sum_le. auto.
Qed.
Lemma no_B o a o' b : chance P [] o = 0 -> pays P [(o, a)] o' b = 0.
Proof. intros Z. unfold pays. rewrite behind_cons. apply no_chance; auto. Qed.
Lemma no_B_next o a o' b : chance P [(o, a)] o' = 0 -> pays P [(o, a)] o' b = 0.
Proof. intros Z. unfold pays. apply no_chance; auto. Qed.
(* a mixture that holds x of uniform is at most x of it and the rest at the best *)
Lemma mixture x (k : act P -> R) l o : (forall b, In b (acts P) -> x / L <= k b) -> sum (acts P) k = 1 ->
  sum (acts P) (fun b => k b * pays P l o b) <= x * flat l o + (1 - x) * high l o.
Proof.
  intros K S. destruct (high_is l o) as (_ & _ & _ & G). pose proof L_pos as L0.
  assert (Z : 0 <= sum (acts P) (fun b => (k b - x / L) * (high l o - pays P l o b))).
  { apply sum_nonneg. intros b Hb. apply Rmult_le_pos; [specialize (K b Hb)|specialize (G b Hb)]; lra. }
  rewrite (sum_ext _ _ (fun b => (k b * high l o - x / L * high l o) - (k b * pays P l o b - x * (/ L * pays P l o b)))) in Z
    by (intros; unfold Rdiv; ring).
  rewrite !sum_minus, sum_scal_r, S, sum_const, sum_scal in Z. fold L in Z. fold (flat l o) in Z.
  replace (L * (x / L * high l o)) with (x * high l o) in Z by (field; lra). lra.
Qed.
Definition invariant (x : R) pi : Prop := is_policy pi /\
  (forall o b, In b (acts P) -> x / L <= does_act pi None o b) /\
  (forall o a, In o (rows P []) -> In a (acts P) -> chance P [] o <> 0 ->
     doing pi None o a Keep = x / (2 * L) /\ x / (2 * L) <= doing pi None o a Push) /\
  (forall o a o', In o (rows P []) -> In a (acts P) ->
     after_write pi Push [(o, a)] o' = x * flat [(o, a)] o' + (1 - x) * high [(o, a)] o').
Definition Q o a : R := due P high [] o a.
Definition extra o a : R := due P flat [] o a - Q o a +
  / (2 * L) * sum (rows P []) (fun o1 => sum (acts P) (fun a1 => B o1 a1 o a)).
Section Inv.
Variables (x : R) (pi : policy E).
Hypothesis Hx : 0 <= x <= 1.
Hypothesis I : invariant x pi.
Lemma due_push o a : In o (rows P []) -> In a (acts P) ->
  due P (after_write pi Push) [] o a = x * due P flat [] o a + (1 - x) * Q o a.
Proof.
  intros Ho Ha. destruct I as (_ & _ & _ & W). unfold Q, due.
  rewrite (sum_ext _ (after_write pi Push [(o, a)]) (fun o' => x * flat [(o, a)] o' + (1 - x) * high [(o, a)] o'))
    by (intros; apply W; auto).
  rewrite sum_plus, !sum_scal. ring.
Qed.
Lemma kept_x o a : kept pi o a = x * (/ (2 * L) * sum (rows P []) (fun o1 => sum (acts P) (fun a1 => B o1 a1 o a))).
Proof.
  pose proof L_pos. destruct I as (_ & _ & K & _). unfold kept. rewrite <- !sum_scal. apply sum_ext_in. intros o1 Ho1.
  rewrite <- !sum_scal. apply sum_ext_in. intros a1 Ha1.
  destruct (Req_dec (chance P [] o1) 0) as [Z|Z]; [rewrite (no_B o1 a1 o a Z); ring|].
  destruct (K o1 a1 Ho1 Ha1 Z) as [-> _]. unfold Rdiv. ring.
Qed.
Lemma q_push o a : In o (rows P []) -> In a (acts P) -> qv pi None o a Push = (Q o a + x * extra o a) / visit pi None o.
Proof.
  intros Ho Ha. rewrite q_none, due_push, kept_x by auto. unfold extra. f_equal. ring.
Qed.
Lemma keep_below_push o a o' : In o (rows P []) -> In a (acts P) ->
  after_write pi Keep [(o, a)] o' <= after_write pi Push [(o, a)] o'.
Proof.
  intros Ho Ha. destruct I as (Pi & K & _ & W). rewrite W by auto. unfold after_write.
  apply mixture; [intros b Hb; apply K; auto|]. apply does_sum; auto.
Qed.
Lemma q_keep o a : In o (rows P []) -> In a (acts P) -> chance P [] o <> 0 -> qv pi None o a Keep <= qv pi None o a Push.
Proof.
  intros Ho Ha C. rewrite !q_none by auto. unfold Rdiv. apply Rmult_le_compat_r.
  - left. apply Rinv_0_lt_compat. pose proof (visit_none pi o (proj1 I)). pose proof (chance_nonneg P HP [] o). lra.
  - apply Rplus_le_compat_r. apply due_le; auto. intros o'. apply keep_below_push; auto.
Qed.
(* the greedy write is push *)
Lemma greedy_push eps pi' o : 0 < eps <= 1 -> is_step_by 2 eps (ties_to_push 2) pi pi' ->
  In o (rows P []) -> chance P [] o <> 0 ->
  exists g, In g (acts P) /\ (forall a, In a (acts P) -> Q o a + x * extra o a <= Q o g + x * extra o g) /\
    forall a, doing pi' None o a Keep = (1 - eps) * doing pi None o a Keep /\
      doing pi' None o a Push = (1 - eps) * doing pi None o a Push + eps * (if act_dec P a g then 1 else 0).
Proof.
  intros He St Ho C. pose proof (visit_none pi o (proj1 I)) as V. pose proof (chance_nonneg P HP [] o) as C0.
  destruct (St (None, o)) as [[X _]|(_ & [g w] & [G1 G2] & Ch & K)].
  { change (visit pi None o <= 0) in X. lra. }
  apply acts_in in G1.
  assert (w = Push) as ->.
  { destruct w; auto. exfalso. specialize (Ch eq_refl g G1). change (qv pi None o g Push < qv pi None o g Keep) in Ch.
    pose proof (q_keep o g Ho G1 C). lra. }
  exists g. split; auto. split.
  - intros a Ha. specialize (G2 (a, Push) (in_acts a Push Ha)). change (qv pi None o a Push <= qv pi None o g Push) in G2.
    rewrite !q_push in G2 by auto. unfold Rdiv in G2. apply Rmult_le_reg_r in G2; auto. apply Rinv_0_lt_compat. lra.
  - intros a. unfold doing. rewrite !K. split.
    + match goal with |- context [if ?d then _ else _] => destruct d as [X|X] end; [discriminate X|ring].
    + destruct (act_dec P a g) as [Y|Y]; match goal with |- context [if ?d then _ else _] => destruct d as [X|X] end;
        try reflexivity; exfalso; [apply X; rewrite Y; reflexivity|apply Y; exact (f_equal fst X)].
Qed.
(* rows after a pair take its best action *)
Lemma greedy_some eps pi' o a o' : 0 < eps <= 1 -> is_step_by 2 eps (ties_to_push 2) pi pi' ->
  In o (rows P []) -> In a (acts P) ->
  after_write pi' Push [(o, a)] o' = ((1 - eps) * x) * flat [(o, a)] o' + (1 - (1 - eps) * x) * high [(o, a)] o'.
Proof.
  intros He St Ho Ha. destruct I as (Pi & _ & K & W). specialize (W o a o' Ho Ha). pose proof L_pos as L0.
  destruct (Req_dec (chance P [(o, a)] o') 0) as [Z|Z].
  { unfold after_write, flat. destruct (high_is [(o, a)] o') as (b & _ & -> & _).
    rewrite (no_B_next _ _ _ b Z). rewrite !sum_zero; [ring|..]; intros c _; rewrite (no_B_next _ _ _ c Z); ring. }
  assert (C : chance P [] o <> 0) by (intros C; apply Z, no_chance_next; auto).
  destruct (K o a Ho Ha C) as [_ Y]. pose proof (chance_nonneg P HP [(o, a)] o') as C0.
  destruct (Req_dec (doing pi None o a Push) 0) as [D|D].
  - assert (x = 0) as ->.
    { rewrite D in Y. assert (0 <= x / (2 * L)) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
      assert (X0 : x / (2 * L) = 0) by lra. apply Rmult_integral in X0 as [X0|X0]; auto.
      pose proof (Rinv_0_lt_compat (2 * L)). lra. }
    destruct (St (Some (o, a), o')) as [[_ S]|[V _]].
    + rewrite Rmult_0_r. rewrite <- W. unfold after_write. apply sum_ext. intros b. f_equal.
      unfold does_act, doing. rewrite !S. auto.
    + change (0 < visit pi (Some (o, a)) o') in V. rewrite visit_some, D in V by auto. lra.
  - assert (D0 : 0 < doing pi None o a Push) by (pose proof (doing_pos pi None o a Push Pi Ha); lra).
    assert (V : 0 < visit pi (Some (o, a)) o') by (rewrite visit_some by auto; apply Rmult_lt_0_compat; lra).
    destruct (St (Some (o, a), o')) as [[X _]|(_ & [g w] & [G1 G2] & _ & S)].
    { change (visit pi (Some (o, a)) o' <= 0) in X. lra. }
    apply acts_in in G1. destruct (high_is [(o, a)] o') as (b & Hb & Eb & G).
    assert (Eg : pays P [(o, a)] o' g = high [(o, a)] o').
    { apply Rle_antisym; [apply G; auto|]. rewrite Eb.
      specialize (G2 (b, w) (in_acts b w Hb)). change (qv pi (Some (o, a)) o' b w <= qv pi (Some (o, a)) o' g w) in G2.
      rewrite !q_some in G2 by auto. unfold Rdiv in G2. apply Rmult_le_reg_r in G2; [|apply Rinv_0_lt_compat; auto].
      apply Rmult_le_reg_l in G2; auto. }
    transitivity ((1 - eps) * after_write pi Push [(o, a)] o' + eps * high [(o, a)] o'); [|rewrite W; ring].
    unfold after_write. rewrite <- Eg.
    rewrite (sum_ext _ _ (fun c => (1 - eps) * (does_act pi (Some (o, a)) o' c * B o a o' c) +
      eps * (if act_dec P c g then B o a o' c else 0))).
    { rewrite sum_plus, !sum_scal, (sum_if (act_dec P) (acts P) g); auto. apply HP. }
    intros c. transitivity (((1 - eps) * does_act pi (Some (o, a)) o' c + eps * (if act_dec P c g then 1 else 0)) * B o a o' c);
      [|destruct (act_dec P c g); ring].
    f_equal. unfold does_act, doing. rewrite !S.
    assert (X : forall w', (if act_dec E (c, w') (g, w) then 1 else 0) = if act_dec P c g then (if hold_dec w' w then 1 else 0) else 0).
    { intros w'. destruct (act_dec E (c, w') (g, w)) as [X|X], (act_dec P c g) as [Y'|Y'], (hold_dec w' w) as [Z'|Z']; auto; exfalso.
      - apply Z'. exact (f_equal snd X).
      - apply Y'. exact (f_equal fst X).
      - apply Y'. exact (f_equal fst X).
      - apply X. rewrite Y', Z'. reflexivity. }
    rewrite !X. destruct (act_dec P c g); [|ring]. destruct w; simpl; ring.
Qed.
End Inv.
Lemma doing_step eps pi pi' m o a w : 0 < eps <= 1 -> is_policy pi -> In a (acts P) -> is_step_by 2 eps (ties_to_push 2) pi pi' ->
  (1 - eps) * doing pi m o a w <= doing pi' m o a w.
Proof.
  intros He Pi Ha St. pose proof (doing_pos pi m o a w Pi Ha) as D. unfold doing in *.
  destruct (St (m, o)) as [[_ S]|(_ & g & _ & _ & S)]; rewrite S.
  - assert (0 <= eps * pi (m, o) (a, w)) by (apply Rmult_le_pos; lra). lra.
  - match goal with |- context [if ?d then _ else _] => destruct d end; lra.
Qed.
Lemma invariant_step x eps pi pi' : 0 <= x <= 1 -> 0 < eps <= 1 -> invariant x pi ->
  is_step_by 2 eps (ties_to_push 2) pi pi' -> invariant ((1 - eps) * x) pi'.
Proof.
  intros Hx He I St. pose proof I as (Pi & K & D & W). split; [|split; [|split]].
  - apply (step_is_policy 2 eps pi); auto; [apply E_pomdp|lra|apply step_by_step with (ties_to_push 2); auto].
  - intros o b Hb. specialize (K o b Hb).
    pose proof (doing_step eps pi pi' None o b Keep He Pi Hb St).
    pose proof (doing_step eps pi pi' None o b Push He Pi Hb St). unfold does_act in *.
    assert ((1 - eps) * (x / L) <= (1 - eps) * (doing pi None o b Keep + doing pi None o b Push)) by (apply Rmult_le_compat_l; lra).
    unfold Rdiv in *. lra.
  - intros o a Ho Ha C. destruct (greedy_push x pi I eps pi' o He St Ho C) as (g & _ & _ & G).
    destruct (G a) as [-> ->]. destruct (D o a Ho Ha C) as [-> D2]. split; [unfold Rdiv; ring|].
    assert ((1 - eps) * (x / (2 * L)) <= (1 - eps) * doing pi None o a Push) by (apply Rmult_le_compat_l; lra).
    unfold Rdiv in *. destruct (act_dec P a g); lra.
  - intros o a o' Ho Ha. apply (greedy_some x pi Hx I eps); auto.
Qed.
Lemma uniform_row m o a w : doing (uniform E) m o a w = / (2 * L).
Proof.
  unfold doing, uniform. f_equal. transitivity (INR (length (list_prod (acts P) [Keep; Push]))); [reflexivity|].
  rewrite prod_length, mult_INR. unfold L. simpl. ring.
Qed.
Lemma invariant_start : invariant 1 (uniform E).
Proof.
  pose proof L_pos as L0. split; [apply is_policy_uniform, E_pomdp|]. split; [|split].
  - intros o b _. unfold does_act. rewrite !uniform_row. right. field. lra.
  - intros o a _ _ _. rewrite !uniform_row. split; [field; lra|]. right. field. lra.
  - intros o a o' _ _. unfold after_write, flat.
    rewrite (sum_ext _ _ (fun b => / L * pays P [(o, a)] o' b)); [ring|].
    intros b. unfold does_act. rewrite !uniform_row. field. lra.
Qed.

(** * How close it comes *)

Lemma Q_top o a : In a (acts P) -> Q o a <= top P 2 [] o.
Proof. intros Ha. destruct (top_is P 1 [] o a Ha) as (_ & _ & G). apply G; auto. Qed.
Lemma Q_best o : exists a, In a (acts P) /\ Q o a = top P 2 [] o.
Proof.
  destruct (some_act P HP) as [c Hc]. destruct (top_is P 1 [] o c Hc) as (T & I & _).
  exists (best_act P 1 [] o c). split; auto.
Qed.
Lemma after_high pi w o a o' : is_policy pi -> after_write pi w [(o, a)] o' <= high [(o, a)] o'.
Proof.
  intros Pi. pose proof L_pos as L0.
  pose proof (mixture 0 (does_act pi (write1 None w o a) o') [(o, a)] o') as X. unfold after_write.
  assert (forall b, In b (acts P) -> 0 / L <= does_act pi (write1 None w o a) o' b).
  { intros b Hb. unfold Rdiv. rewrite Rmult_0_l. unfold does_act.
    pose proof (doing_pos pi (write1 None w o a) o' b Keep Pi Hb). pose proof (doing_pos pi (write1 None w o a) o' b Push Pi Hb). lra. }
  specialize (X H (does_sum pi _ o' Pi)). lra.
Qed.
Lemma ok_one o a : In a (acts P) -> ok P [(o, a)].
Proof. intros Ha y [<-|[]]. auto. Qed.
Notation m1 := (most P 1).
Lemma pays_range o a o' b : In a (acts P) -> In b (acts P) ->
  - (m1 * chance P [(o, a)] o') <= pays P [(o, a)] o' b <= m1 * chance P [(o, a)] o'.
Proof.
  intros Ha Hb. pose proof (pays_abs P HP 1 [(o, a)] o' b (ok_one o a Ha) ltac:(simpl; lia) Hb) as X.
  unfold Rabs in X. destruct (Rcase_abs _) in X; lra.
Qed.
(* no second step loses more than twice the largest reward *)
Lemma lose (k : act P -> R) o a o' : In a (acts P) -> (forall b, In b (acts P) -> 0 <= k b) -> sum (acts P) k = 1 ->
  high [(o, a)] o' - sum (acts P) (fun b => k b * B o a o' b) <= 2 * m1 * chance P [(o, a)] o'.
Proof.
  intros Ha K S. destruct (high_is [(o, a)] o') as (c & Hc & -> & _).
  pose proof (pays_range o a o' c Ha Hc) as [_ X].
  assert (Y : sum (acts P) (fun b => k b * - (m1 * chance P [(o, a)] o')) <= sum (acts P) (fun b => k b * B o a o' b)).
  { apply sum_le. intros b Hb. apply Rmult_le_compat_l; auto. apply pays_range; auto. }
  rewrite sum_scal_r, S in Y. lra.
Qed.
Definition lost o : R := 2 * m1 * chance P [] o.
Lemma lost_pos o : 0 <= lost o.
Proof.
  unfold lost. apply Rmult_le_pos; [|apply chance_nonneg; auto]. pose proof (most_pos P 1). lra.
Qed.
Lemma lose_due V o a : In a (acts P) -> (forall o', exists k, (forall b, In b (acts P) -> 0 <= k b) /\ sum (acts P) k = 1 /\
    V [(o, a)] o' = sum (acts P) (fun b => k b * B o a o' b)) -> Q o a <= due P V [] o a + lost o.
Proof.
  intros Ha H. apply due_minus; auto; [pose proof (most_pos P 1); lra|].
  intros o'. destruct (H o') as (k & K & S & ->). apply lose; auto.
Qed.
Lemma lose_write pi w o a : is_policy pi -> In a (acts P) -> Q o a <= due P (after_write pi w) [] o a + lost o.
Proof.
  intros Pi Ha. apply lose_due; auto. intros o'. exists (does_act pi (write1 None w o a) o'). split; [|split; [apply does_sum; auto|reflexivity]].
  intros b Hb. unfold does_act. pose proof (doing_pos pi (write1 None w o a) o' b Keep Pi Hb).
  pose proof (doing_pos pi (write1 None w o a) o' b Push Pi Hb). lra.
Qed.
Lemma sum_flat c : sum (acts P) (fun _ => / L * c) = c.
Proof. rewrite sum_const. fold L. field. pose proof L_pos. lra. Qed.
Lemma lose_flat o a : In a (acts P) -> Q o a <= due P flat [] o a + lost o.
Proof.
  intros Ha. apply lose_due; auto. intros o'. exists (fun _ => / L). split; [|split; [|reflexivity]].
  - intros b _. left. apply Rinv_0_lt_compat, L_pos.
  - rewrite <- (sum_flat 1) at 1. apply sum_ext. intros; ring.
Qed.
(* what all rows together do, as the best history-based values see it *)
Definition shares pi o : R := sum (acts P) (fun a => does_act pi None o a * Q o a).
Lemma worth_shares x pi o : 0 <= x <= 1 -> invariant x pi -> In o (rows P []) -> chance P [] o <> 0 ->
  shares pi o - 2 * lost o * x <= worth_of pi o.
Proof.
  intros Hx I Ho C. pose proof I as (Pi & _ & D & _). pose proof L_pos as L0. pose proof (lost_pos o) as Y0.
  assert (S1 : sum (acts P) (does_act pi None o) = 1) by (apply does_sum; auto).
  assert (X : sum (acts P) (fun a => does_act pi None o a * Q o a - does_act pi None o a * (x * lost o) - x * (/ L * lost o)) <= worth_of pi o).
  { unfold worth_of. apply sum_le. intros a Ha. destruct (D o a Ho Ha C) as [Kp _].
    rewrite (due_push x pi I o a Ho Ha).
    pose proof (lose_flat o a Ha) as F. pose proof (lose_write pi Keep o a Pi Ha) as G.
    pose proof (doing_pos pi None o a Keep Pi Ha) as P1. pose proof (doing_pos pi None o a Push Pi Ha) as P2.
    assert (A : doing pi None o a Keep * (Q o a - lost o) <= doing pi None o a Keep * due P (after_write pi Keep) [] o a)
      by (apply Rmult_le_compat_l; lra).
    assert (A' : x * (Q o a - lost o) <= x * due P flat [] o a) by (apply Rmult_le_compat_l; lra).
    assert (B' : doing pi None o a Push * (Q o a - x * lost o) <=
      doing pi None o a Push * (x * due P flat [] o a + (1 - x) * Q o a)) by (apply Rmult_le_compat_l; lra).
    unfold does_act. assert (Z : doing pi None o a Keep * lost o <= x * (/ L * lost o)).
    { rewrite Kp. unfold Rdiv. rewrite Rinv_mult.
      assert (0 <= x * (/ L * lost o)).
      { apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat. auto. }
      lra. }
    assert (0 <= doing pi None o a Keep * (x * lost o)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
    lra. }
  rewrite !sum_minus, sum_scal_r, S1, sum_scal, sum_flat in X. unfold shares. lra.
Qed.
Definition spread o : R := 2 * sum (acts P) (fun a => Rabs (extra o a)).
Lemma spread_is o a b : In a (acts P) -> In b (acts P) -> extra o a - extra o b <= spread o.
Proof.
  intros Ha Hb. unfold spread.
  pose proof (sum_pos_term (acts P) (fun a => Rabs (extra o a)) a ltac:(intros; apply Rabs_pos) Ha) as X.
  pose proof (sum_pos_term (acts P) (fun a => Rabs (extra o a)) b ltac:(intros; apply Rabs_pos) Hb) as Y.
  simpl in X, Y. pose proof (Rle_abs (extra o a)). pose proof (Rle_abs (- extra o b)) as Z. rewrite Rabs_Ropp in Z. lra.
Qed.
Definition begins o : R := Rabs (top P 2 [] o - sum (acts P) (fun a => / L * Q o a)).
Definition constant : R := sum (rows P []) (fun o => begins o + spread o + 2 * lost o).

Section Run.
Variables (eps : R) (run : nat -> policy E).
Hypothesis He : 0 < eps <= 1.
Hypothesis Hrun : is_run_by 2 eps (ties_to_push 2) (uniform E) run.
Let He' : 0 <= eps <= 1.
Proof. lra. Qed.
Lemma invariant_run n : invariant (few_heads eps n 1) (run n).
Proof.
  destruct Hrun as [R0 RS]. induction n as [|n IH].
  - rewrite R0, few_first. apply invariant_start.
  - rewrite few_next, few_none, Rmult_0_r, Rplus_0_r.
    apply (invariant_step (few_heads eps n 1) eps (run n)); auto. apply few_range; auto.
Qed.
Lemma few_more n : few_heads eps n 1 <= few_heads eps n 2.
Proof.
  apply mean_le; [apply heads_dist; auto|]. intros [|[|i]]; simpl; lra.
Qed.
Lemma shares_close n o : In o (rows P []) -> chance P [] o <> 0 ->
  top P 2 [] o - shares (run n) o <= (begins o + spread o) * few_heads eps n 2.
Proof.
  intros Ho C. assert (S0 : 0 <= spread o) by (unfold spread; apply Rmult_le_pos; [lra|apply sum_nonneg; intros; apply Rabs_pos]).
  assert (B0 : 0 <= begins o) by apply Rabs_pos. induction n as [|n IH].
  - rewrite few_first, Rmult_1_r. destruct Hrun as [R0 _].
    replace (shares (run 0%nat) o) with (sum (acts P) (fun a => / L * Q o a)).
    + pose proof (Rle_abs (top P 2 [] o - sum (acts P) (fun a => / L * Q o a))). unfold begins. lra.
    + rewrite R0. apply sum_ext. intros a. unfold does_act. rewrite !uniform_row. pose proof L_pos. field. lra.
  - pose proof (few_range eps He' n 1) as F1. rewrite few_next.
    destruct (greedy_push (few_heads eps n 1) (run n) (invariant_run n) eps (run (S n)) o He (proj2 Hrun n) Ho C)
      as (g & Hg & G & K).
    assert (Sh : shares (run (S n)) o = (1 - eps) * shares (run n) o + eps * Q o g).
    { unfold shares. rewrite (sum_ext _ _ (fun a => (1 - eps) * (does_act (run n) None o a * Q o a) +
        eps * (if act_dec P a g then Q o a else 0))).
      - rewrite sum_plus, !sum_scal, (sum_if (act_dec P) (acts P) g); auto. apply HP.
      - intros a. unfold does_act. destruct (K a) as [-> ->]. destruct (act_dec P a g); ring. }
    destruct (Q_best o) as (b & Hb & Eb). specialize (G b Hb). pose proof (spread_is o g b Hg Hb) as W.
    assert (X : few_heads eps n 1 * (extra o g - extra o b) <= few_heads eps n 1 * spread o) by (apply Rmult_le_compat_l; lra).
    assert (Y : top P 2 [] o - Q o g <= (begins o + spread o) * few_heads eps n 1).
    { assert (0 <= begins o * few_heads eps n 1) by (apply Rmult_le_pos; lra). lra. }
    rewrite Sh. apply (Rmult_le_compat_l (1 - eps)) in IH; [|lra]. apply (Rmult_le_compat_l eps) in Y; lra.
Qed.
Lemma row_close n o : In o (rows P []) ->
  top P 2 [] o - worth_of (run n) o <= (begins o + spread o + 2 * lost o) * few_heads eps n 2.
Proof.
  intros Ho. pose proof (few_range eps He' n 1) as F1. pose proof (few_range eps He' n 2) as F2. pose proof (lost_pos o) as L0.
  destruct (Req_dec (chance P [] o) 0) as [Z|Z].
  - assert (S0 : 0 <= spread o) by (unfold spread; apply Rmult_le_pos; [lra|apply sum_nonneg; intros; apply Rabs_pos]).
    assert (B0 : 0 <= begins o) by apply Rabs_pos.
    replace (top P 2 [] o - worth_of (run n) o) with 0; [apply Rmult_le_pos; lra|].
    assert (D : forall V a, (forall o', V [(o, a)] o' = 0) -> due P V [] o a = 0) by (intros; apply due_zero; auto).
    assert (W0 : forall w a, due P (after_write (run n) w) [] o a = 0).
    { intros w a. apply D. intros o'. unfold after_write. apply sum_zero. intros b _. rewrite (no_B o a o' b Z). ring. }
    destruct (Q_best o) as (b & _ & <-). unfold worth_of. rewrite sum_zero by (intros; rewrite !W0; ring).
    unfold Q. rewrite D; [ring|]. intros o'. destruct (high_is [(o, b)] o') as (c & _ & -> & _). apply no_B; auto.
  - pose proof (shares_close n o Ho Z) as X. pose proof (worth_shares _ _ o F1 (invariant_run n) Ho Z) as Y.
    pose proof (few_more n) as M.
    assert (lost o * few_heads eps n 1 <= lost o * few_heads eps n 2) by (apply Rmult_le_compat_l; auto). lra.
Qed.
Lemma run_close_two n : sum (rows P []) (top P 2 []) - value_n (P := E) (run n) 2 <= constant * few_heads eps n 2.
Proof.
  rewrite value_two. rewrite <- sum_minus. unfold constant. rewrite <- sum_scal_r. apply sum_le. intros o Ho.
  apply row_close; auto.
Qed.
Lemma run_below n : value_n (P := E) (run n) 2 <= sum (rows P []) (top P 2 []).
Proof.
  rewrite value_two. apply sum_le. intros o _. destruct (invariant_run n) as (Pi & _).
  unfold worth_of. rewrite <- (Rmult_1_l (top P 2 [] o)), <- (does_sum (run n) None o Pi), <- sum_scal_r.
  apply sum_le. intros a Ha. unfold does_act. rewrite Rmult_plus_distr_r.
  assert (X : forall w, due P (after_write (run n) w) [] o a <= top P 2 [] o).
  { intros w. apply Rle_trans with (2 := Q_top o a Ha). apply due_le; auto. intros o'. apply after_high; auto. }
  apply Rplus_le_compat; apply Rmult_le_compat_l; auto; apply doing_pos; auto.
Qed.
End Run.
Lemma constant_pos : 0 <= constant.
Proof.
  apply sum_nonneg. intros o _. pose proof (lost_pos o). assert (0 <= begins o) by apply Rabs_pos.
  assert (0 <= spread o) by (unfold spread; apply Rmult_le_pos; [lra|apply sum_nonneg; intros; apply Rabs_pos]). lra.
Qed.
End Two.

(* T.oa1: with ties to push the loop with OA1 on at most two steps comes to the best history-based value; after
   n steps eps in (0, 1] it lacks C P(fewer than two of n coins show heads) <= 2C/(n eps) at most, C a
   number of the task *)
Theorem oa1_is_never_stuck (P : pomdp) : is_pomdp P -> horizon P 2 ->
  exists best C, is_best_history P 2 best /\ 0 <= C /\
  forall eps run, 0 < eps <= 1 -> is_run_by 2 eps (ties_to_push 2) (uniform (augment P (OA1 P))) run ->
  (forall n, value_n (run n) 2 <= best /\ best - value_n (run n) 2 <= C * few_heads eps n 2 /\
     INR n * eps * (best - value_n (run n) 2) <= 2 * C) /\
  Un_cv (fun n => value_n (run n) 2) best.
Proof.
  intros HP ends. exists (sum (rows P []) (top P 2 [])), (constant P).
  pose proof (constant_pos P HP) as C0. split; [apply (top_is_best P 1 HP)|]. split; auto.
  intros eps run He R.
  assert (A : forall n, value_n (run n) 2 <= sum (rows P []) (top P 2 []) /\
    sum (rows P []) (top P 2 []) - value_n (run n) 2 <= constant P * few_heads eps n 2 /\
    INR n * eps * (sum (rows P []) (top P 2 []) - value_n (run n) 2) <= 2 * constant P).
  { intros n. pose proof (run_below P HP ends eps run He R n) as X. pose proof (run_close_two P HP ends eps run He R n) as Y.
    split; [exact X|]. split; [exact Y|]. pose proof (few_rare eps ltac:(lra) n 2) as F. simpl (INR 2) in F.
    pose proof (pos_INR n) as I.
    apply Rle_trans with (INR n * eps * (constant P * few_heads eps n 2)).
    - apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact Y].
    - replace (INR n * eps * (constant P * few_heads eps n 2)) with (constant P * (INR n * eps * few_heads eps n 2)) by ring.
      apply (Rmult_le_compat_l (constant P)) in F; auto. lra. }
  split; auto. intros e He0.
  destruct (large (2 * constant P / (eps * e))) as [n Hn]. exists (S n). intros i Hi.
  destruct (A i) as (A1 & _ & A3). unfold R_dist. rewrite Rabs_left1 by lra.
  assert (Hi' : INR n < INR i) by (apply lt_INR; lia). pose proof (pos_INR n).
  assert (0 < eps * e) by (apply Rmult_lt_0_compat; lra).
  assert (X : 2 * constant P < INR i * (eps * e)).
  { apply Rmult_lt_reg_r with (/ (eps * e)); [apply Rinv_0_lt_compat; auto|].
    replace (INR i * (eps * e) * / (eps * e)) with (INR i) by (field; lra). unfold Rdiv in Hn. lra. }
  assert (0 < INR i * eps) by (apply Rmult_lt_0_compat; lra).
  apply Rmult_lt_reg_l with (INR i * eps); auto. lra.
Qed.

(** * Rules for ties that are lists, pushes first *)

(* the paper's rule is one of them: the higher write wins, then the lower action *)
Lemma pushes_first (P : pomdp) (l : order (augment P (OA1 P))) (A A' : list (act P)) T eps pi :
  is_order (augment P (OA1 P)) l ->
  fst l :: snd l = map (fun a => (a, Push)) A ++ map (fun a => (a, Keep)) A' ->
  is_run_by T eps (ties_to_push T) pi (loop T l eps pi).
Proof.
  intros O El. split; auto. intros n o. set (pi' := loop T l eps pi n).
  change (loop T l eps pi (S n)) with (improve T l eps pi'). unfold improve.
  destruct (Rlt_dec 0 (visits T pi' o)) as [V|V]; [right|left; split; auto; lra].
  split; auto. exists (greedy T l pi' o). unfold greedy.
  destruct (argmax_best (q T pi' o) (fst l) (snd l)) as [H1 H2].
  split; [split; [apply O; auto|intros b Hb; apply H2, O; auto]|]. split; auto.
  intros W a Ha. destruct (argmax_split (q T pi' o) (fst l) (snd l)) as (before & after & Eq & Lt & _).
  apply Lt. set (g := argmax (q T pi' o) (fst l) (snd l)) in *.
  assert (I : In (a, Push) (fst l :: snd l)).
  { apply O. apply (in_prod (acts P) [Keep; Push]); simpl; auto. }
  (* what comes after a keep is a keep *)
  assert (K : forall (A : list (act P)) before after, map (fun a => (a, Push)) A ++ map (fun a => (a, Keep)) A' = before ++ g :: after ->
    ~ In (a, Push) (g :: after)).
  { clear -W. assert (K0 : forall before after, map (fun a => (a, Keep)) A' = before ++ g :: after -> ~ In (a, Push) (g :: after)).
    { intros before after Eq I. assert (J : In (a, Push) (map (fun a : act P => (a, Keep)) A')).
      { rewrite Eq. apply in_or_app. right. auto. }
      apply in_map_iff in J as (b & J & _). discriminate. }
    induction A as [|b A IH]; simpl; intros before after Eq; [apply (K0 before after Eq)|].
    destruct before as [|c before]; simpl in Eq.
    - injection Eq as Eg _. rewrite <- Eg in W. discriminate.
    - injection Eq as _ Eq. apply (IH before after Eq). }
  rewrite Eq in I. apply in_app_or in I as [I|I]; auto. exfalso.
  apply (K A before after); auto. rewrite <- El. auto.
Qed.

(** * Ties to keep *)

(* On [[0, 2], [0, 1]] with ties to keep the loop is never worth more than 1, whatever the step in (0, 1);
   the best is 2. *)
Definition lost_pair (a b : nat) : R := nth b (nth a [[0; 2]; [0; 1]] []) 0.
Section Keep.
Notation P := (table 2 lost_pair).
Notation E := (augment P (OA1 P)).
Let HP : is_pomdp P := table_is_pomdp 2 lost_pair ltac:(lia).
Let ends : horizon P 2 := table_horizon 2 lost_pair.
Implicit Types (pi : policy E).
Lemma pays_none a : pays P [] tt a = 0.
Proof. unfold pays, mean, sees, prob, mean. simpl. ring. Qed.
Lemma pays_one a b : pays P [(tt, a)] tt b = lost_pair a b.
Proof. unfold pays, mean, sees, prob, mean. simpl. unfold prob, mean. simpl. ring. Qed.
Lemma due_table V a : due P V [] tt a = V [(tt, a)] tt.
Proof. unfold due. rewrite pays_none. simpl. ring. Qed.
Lemma rows_table : rows P [] = [tt].
Proof. reflexivity. Qed.
Definition act2s := [0%nat; 1%nat].
Definition pr (a : nat) : option (obs P * act P) := Some (tt, a).
Definition at_keep (x : R) pi : Prop :=
  doing P pi None tt 0%nat Keep = x / 4 /\ doing P pi None tt 0%nat Push = x / 4 /\
  doing P pi None tt 1%nat Push = x / 4 /\ doing P pi None tt 1%nat Keep = 1 - 3 * x / 4 /\
  forall a, In a act2s -> does_act P pi (pr a) tt 0%nat = x / 2 /\ does_act P pi (pr a) tt 1%nat = 1 - x / 2.
Lemma numbers : lost_pair 0 0 = 0 /\ lost_pair 0 1 = 2 /\ lost_pair 1 0 = 0 /\ lost_pair 1 1 = 1.
Proof. unfold lost_pair. simpl. auto. Qed.
Lemma after_table pi w a : after_write P pi w [(tt, a)] tt =
  does_act P pi (match w with Keep => None | Push => pr a end) tt 0%nat * lost_pair a 0 +
  does_act P pi (match w with Keep => None | Push => pr a end) tt 1%nat * lost_pair a 1.
Proof.
  unfold after_write. change (acts P) with act2s. unfold act2s. cbn [sum]. rewrite !pays_one. rewrite Rplus_0_r. reflexivity.
Qed.
Lemma after_keep x pi w a : at_keep x pi -> In a act2s -> after_write P pi w [(tt, a)] tt =
  x / 2 * lost_pair a 0 + (1 - x / 2) * lost_pair a 1.
Proof.
  intros (K0 & P0 & P1 & K1 & S) Ha. rewrite after_table. destruct w.
  - unfold does_act. rewrite K0, P0, P1, K1. field.
  - destruct (S a Ha) as [-> ->]. ring.
Qed.
Lemma due_keep x pi w a : at_keep x pi -> In a act2s -> due P (after_write P pi w) [] tt a =
  x / 2 * lost_pair a 0 + (1 - x / 2) * lost_pair a 1.
Proof. intros I Ha. etransitivity; [apply due_table|]. apply after_keep; auto. Qed.
Lemma kept_keep x pi : at_keep x pi -> kept P pi tt 0%nat = 0 /\ kept P pi tt 1%nat = 1 - x / 4.
Proof.
  intros (K0 & P0 & P1 & K1 & S). destruct numbers as (n0 & n1 & n2 & n3). unfold kept. rewrite rows_table.
  change (acts P) with act2s. unfold act2s. cbn [sum]. rewrite !pays_one, K0, K1, n0, n1, n2, n3. split; field.
Qed.
Lemma keep_step x eps pi pi' : 0 < x <= 1 -> 0 < eps < 1 -> is_policy pi -> at_keep x pi ->
  is_step_by 2 eps (ties_to_keep 2) pi pi' -> at_keep ((1 - eps) * x) pi'.
Proof.
  intros Hx He Pi I St. pose proof I as (K0 & P0 & P1 & K1 & S). destruct numbers as (n0 & n1 & n2 & n3).
  destruct (kept_keep x pi I) as [k0 k1].
  assert (A0 : In 0%nat (acts P)) by (left; reflexivity). assert (A1 : In 1%nat (acts P)) by (right; left; reflexivity).
  assert (C0 : chance P [] tt = 1) by (unfold chance, mean, sees, prob, mean; simpl; ring).
  pose proof (visit_none P HP pi tt Pi) as V. rewrite C0 in V.
  assert (Q0 : forall w, qv P pi None tt 0%nat w = (2 - x) / visit P pi None tt).
  { intros w. rewrite (q_none P HP ends pi tt 0%nat w A0), (due_keep x pi w 0 I (or_introl eq_refl)), k0, n0, n1.
    f_equal. field. }
  assert (Q1 : forall w, qv P pi None tt 1%nat w = (2 - 3 * x / 4) / visit P pi None tt).
  { intros w. rewrite (q_none P HP ends pi tt 1%nat w A1), (due_keep x pi w 1 I (or_intror (or_introl eq_refl))), k1, n2, n3.
    f_equal. field. }
  assert (IV : 0 < / visit P pi None tt) by (apply Rinv_0_lt_compat; lra).
  assert (First : forall a w, doing P pi' None tt a w = (1 - eps) * doing P pi None tt a w +
    eps * (if Nat.eqb a 1 then match w with Keep => 1 | Push => 0 end else 0)).
  { destruct (St (None, tt)) as [[X _]|(_ & [g w] & [G1 G2] & Ch & K)].
    { change (visit P pi None tt <= 0) in X. lra. }
    apply (acts_in P) in G1.
    assert (w = Keep) as ->.
    { destruct w; auto. exfalso. specialize (Ch eq_refl g G1). change (qv P pi None tt g Keep < qv P pi None tt g Push) in Ch.
      destruct G1 as [<-|[<-|[]]]; [rewrite !Q0 in Ch|rewrite !Q1 in Ch]; lra. }
    assert (g = 1%nat) as ->.
    { destruct G1 as [<-|[<-|[]]]; auto. exfalso. specialize (G2 (1%nat, Keep) (in_acts P 1%nat Keep A1)).
      change (qv P pi None tt 1%nat Keep <= qv P pi None tt 0%nat Keep) in G2. rewrite Q0, Q1 in G2. unfold Rdiv in G2.
      apply Rmult_le_reg_r in G2; auto. lra. }
    intros a w. unfold doing. rewrite K.
    match goal with |- context [if ?d then _ else _] => destruct d as [X|X] end.
    - injection X as -> ->. reflexivity.
    - destruct (Nat.eqb_spec a 1) as [->|]; auto. destruct w; auto. contradiction X. reflexivity. }
  assert (Second : forall a b, In a act2s -> does_act P pi' (pr a) tt b = (1 - eps) * does_act P pi (pr a) tt b +
    eps * (if Nat.eqb b 1 then 1 else 0)).
  { intros a b Ha. assert (Vs : 0 < visit P pi (pr a) tt).
    { pose proof (visit_some P HP pi tt a tt (or_introl eq_refl) Ha) as VS.
      change (visit P pi (pr a) tt = doing P pi None tt a Push * chance P [(tt, a)] tt) in VS. rewrite VS.
      assert (C1 : chance P [(tt, a)] tt = 1).
      { unfold chance, mean, sees, prob, mean. simpl. unfold prob, mean. simpl. ring. }
      rewrite C1. destruct Ha as [<-|[<-|[]]]; lra. }
    assert (Y : 0 < doing P pi None tt a Push) by (destruct Ha as [<-|[<-|[]]]; lra).
    destruct (St (pr a, tt)) as [[X _]|(_ & [g w] & [G1 G2] & _ & K)].
    { change (visit P pi (pr a) tt <= 0) in X. lra. }
    apply (acts_in P) in G1.
    assert (g = 1%nat) as ->.
    { destruct G1 as [<-|[<-|[]]]; auto. exfalso. specialize (G2 (1%nat, w) (in_acts P 1%nat w A1)).
      change (qv P pi (pr a) tt 1%nat w <= qv P pi (pr a) tt 0%nat w) in G2.
      assert (Qs : forall b, In b (acts P) -> qv P pi (pr a) tt b w = doing P pi None tt a Push * lost_pair a b / visit P pi (pr a) tt).
      { intros c Hc. rewrite <- pays_one. apply (q_some P HP ends pi tt a tt c w (or_introl eq_refl) Ha Hc). }
      rewrite !Qs in G2 by auto. unfold Rdiv in G2.
      apply Rmult_le_reg_r in G2; [|apply Rinv_0_lt_compat; auto]. apply Rmult_le_reg_l in G2; auto.
      destruct Ha as [<-|[<-|[]]]; lra. }
    assert (X : forall w', (if act_dec E (b, w') (1%nat, w) then 1 else 0) = if Nat.eqb b 1 then (if hold_dec w' w then 1 else 0) else 0).
    { intros w'. destruct (act_dec E (b, w') (1%nat, w)) as [X|X]; destruct (Nat.eqb_spec b 1) as [->|Y'], (hold_dec w' w) as [Z'|Z']; auto; exfalso.
      - apply Z'. exact (f_equal snd X).
      - apply Y'. exact (f_equal fst X).
      - apply Y'. exact (f_equal fst X).
      - apply X. rewrite Z'. reflexivity. }
    assert (D : forall w', doing P pi' (pr a) tt b w' = (1 - eps) * doing P pi (pr a) tt b w' +
      eps * (if Nat.eqb b 1 then (if hold_dec w' w then 1 else 0) else 0)).
    { intros w'. etransitivity; [apply K|]. f_equal. f_equal. apply X. }
    unfold does_act. rewrite !D.
    destruct (Nat.eqb b 1); [|ring]. destruct w; simpl; ring. }
  unfold at_keep. rewrite !First, K0, P0, P1, K1. simpl Nat.eqb. cbv iota. repeat split; try field.
  - rewrite Second by auto. destruct (S a H) as [-> _]. simpl. field.
  - rewrite Second by auto. destruct (S a H) as [_ ->]. simpl. field.
Qed.
Lemma keep_value x pi : at_keep x pi -> value_n (P := E) pi 2 <= 1.
Proof.
  intros I. pose proof I as (K0 & P0 & P1 & K1 & S). destruct numbers as (n0 & n1 & n2 & n3).
  assert (V : value_n (P := E) pi 2 = 1 - x / 2 * (x / 2)).
  { rewrite (value_two P HP ends), rows_table. unfold worth_of. change (acts P) with act2s. unfold act2s. cbn [sum].
    rewrite !(due_keep x pi) by (auto; simpl; auto). rewrite K0, P0, P1, K1, n0, n1, n2, n3. field. }
  rewrite V. pose proof (Rle_0_sqr (x / 2)) as Z. unfold Rsqr in Z. lra.
Qed.
Lemma keep_best : is_best_history P 2 2.
Proof.
  destruct numbers as (n0 & n1 & n2 & n3).
  assert (W : forall rho : policy (augment P (everything P)), exists h : nat -> nat -> R, exists k : nat -> R,
    (is_policy rho -> (forall a, In a act2s -> 0 <= k a) /\ k 0%nat + k 1%nat = 1 /\
       forall a, (forall b, In b act2s -> 0 <= h a b) /\ h a 0%nat + h a 1%nat = 1) /\
    (forall a, k a = rho ([], tt) (a, Push)) /\ (forall a b, h a b = rho ([(tt, a)], tt) (b, Push)) /\
    value_n rho 2 = k 0%nat * (h 0%nat 1%nat * 2) + k 1%nat * h 1%nat 1%nat).
  { intros rho. exists
    (fun a b => rho (@pair (list (unit * nat)) unit [(tt, a)] tt) (@pair nat hold b Push)),
    (fun a => rho (@pair (list (unit * nat)) unit [] tt) (@pair nat hold a Push)). split; [|split; [auto|split; [auto|]]].
    - intros H. pose proof (history_plan P rho H) as Pl. change (acts P) with act2s in *.
      assert (Z : forall l, (forall b, In b act2s -> 0 <= rho (l, tt) (b, Push)) /\ rho (l, tt) (0%nat, Push) + rho (l, tt) (1%nat, Push) = 1).
      { intros l. destruct (Pl l tt) as [Z1 Z2]. split; [exact Z1|].
        etransitivity; [|exact Z2]. unfold act2s, acting. simpl sum. symmetry. etransitivity; [|reflexivity]. simpl. ring. }
      split; [apply (proj1 (Z []))|]. split; [apply (proj2 (Z []))|]. intros a. apply (Z [(tt, a)]).
    - etransitivity; [apply (value_table 2 lost_pair (list (unit * nat)) hold [Push] (fun l _ o a => (o, a) :: l) []
        (pairs_dec P) hold_dec rho 0)|].
      unfold later, choices, to. cbn -[lost_pair]. rewrite n0, n1, n2, n3. ring. }
  split.
  - intros rho H. destruct (W rho) as (h & k & F & _ & _ & ->). destruct (F H) as (K & K1 & Hh).
    pose proof (K 0%nat (or_introl eq_refl)) as k0. pose proof (K 1%nat (or_intror (or_introl eq_refl))) as k1.
    destruct (Hh 0%nat) as [h0 h0']. destruct (Hh 1%nat) as [h1 h1'].
    specialize (h0 0%nat (or_introl eq_refl)). specialize (h1 0%nat (or_introl eq_refl)).
    assert (k 0%nat * (h 0%nat 1%nat * 2) <= k 0%nat * 2) by (apply Rmult_le_compat_l; lra).
    assert (k 1%nat * h 1%nat 1%nat <= k 1%nat * 2) by (apply Rmult_le_compat_l; lra). lra.
  - exists (one_hot (P := augment P (everything P)) (fun y => (match fst y with [] => 0%nat | _ => 1%nat end, Push))). split.
    + apply is_policy_one_hot.
      * apply (acts_once _ (augment_is_pomdp P (everything P) HP
          (det_is_memory _ _ [Push] _ _ _ _ ltac:(repeat constructor; simpl; tauto) ltac:(discriminate)))).
      * intros [l o]. apply (in_prod [0%nat; 1%nat] [Push]); [destruct l|]; simpl; auto.
    + destruct (W (one_hot (P := augment P (everything P)) (fun y => (match fst y with [] => 0%nat | _ => 1%nat end, Push))))
        as (h & k & _ & Ek & Eh & ->). rewrite !Ek, !Eh. unfold one_hot. simpl. ring.
Qed.
End Keep.
Theorem ties_to_keep_are_stuck eps run : 0 < eps < 1 ->
  is_run_by 2 eps (ties_to_keep 2) (uniform (augment (table 2 lost_pair) (OA1 (table 2 lost_pair)))) run ->
  (forall n, value_n (run n) 2 <= 1) /\ is_best_history (table 2 lost_pair) 2 2.
Proof.
  intros He [R0 RS]. split; [|apply keep_best]. pose proof (table_is_pomdp 2 lost_pair ltac:(lia)) as HP.
  assert (A : forall n, is_policy (run n) /\ at_keep ((1 - eps) ^ n) (run n)).
  { induction n as [|n [IH1 IH2]].
    - rewrite R0. split; [apply is_policy_uniform, E_pomdp; auto|].
      assert (L2 : L (table 2 lost_pair) = 2) by (unfold L; simpl; ring).
      unfold at_keep, does_act. rewrite !(uniform_row (table 2 lost_pair)), L2. simpl pow. repeat split; try field; rewrite !uniform_row, L2; field.
    - split; [apply (step_is_policy 2 eps (run n)); auto; [apply E_pomdp; auto|lra|apply step_by_step with (ties_to_keep 2); auto]|].
      simpl pow. apply (keep_step _ eps (run n)); auto. split; [apply pow_lt; lra|apply pow_range; lra]. }
  intros n. apply (keep_value ((1 - eps) ^ n)). apply A.
Qed.

(** * Three steps *)

(* On [[[0, 0], [0, 0]], [[0, 0], [2, 1]]] no policy of OA1 is worth more than 5/4, so the loop is stuck
   whatever its steps and ties; the best is 2. *)
Theorem oa1_is_stuck_on_three_steps (pi : policy (augment (three corner) (OA1 (three corner)))) :
  is_policy pi -> value_n pi 3 <= 5 / 4 /\ is_best_history (three corner) 3 2.
Proof.
  intros H. split.
  - set (u := fun (m : option (unit * nat)) (w : hold) (o : unit) (a : nat) => match w with Keep => m | Push => Some (o, a) end).
    set (Md := option_dec (pair_dec (obs_dec (three corner)) (act_dec (three corner)))).
    set (x := fun (m : option (unit * nat)) (a : nat) (w : hold) => pi (m, tt) (a, w)).
    set (k := x None 1%nat Keep). set (p1 := x None 1%nat Push).
    set (y := x (Some (tt, 1%nat)) 1%nat Keep + x (Some (tt, 1%nat)) 1%nat Push).
    set (z := x (Some (tt, 1%nat)) 0%nat Keep + x (Some (tt, 1%nat)) 0%nat Push).
    set (e0 := x None 0%nat Keep + x None 0%nat Push).
    assert (V : value_n pi 3 = k * (k * (2 * e0 + k + p1) + p1 * (2 * z + y)) + p1 * (y * (2 * z + y))).
    { etransitivity; [apply (value_three corner _ hold [Keep; Push] u None Md hold_dec pi)|].
      unfold over, corner, cube, k, p1, y, z, e0, x, u. simpl. ring. }
    assert (N : forall m a w, In a [0%nat; 1%nat] -> 0 <= x m a w).
    { intros m a w Ha. apply H. apply (in_prod [0%nat; 1%nat] [Keep; Push]); auto. destruct w; simpl; auto. }
    assert (S2 : forall m, x m 0%nat Keep + x m 0%nat Push + (x m 1%nat Keep + x m 1%nat Push) = 1).
    { intros m. rewrite <- (over_row corner _ hold [Keep; Push] u None Md hold_dec pi m H). unfold over, x, u. simpl. ring. }
    pose proof (S2 None) as A. pose proof (S2 (Some (tt, 1%nat))) as B.
    pose proof (N None 0%nat Keep (or_introl eq_refl)). pose proof (N None 0%nat Push (or_introl eq_refl)).
    pose proof (N None 1%nat Keep (or_intror (or_introl eq_refl))) as Hk. pose proof (N None 1%nat Push (or_intror (or_introl eq_refl))) as Hp.
    pose proof (N (Some (tt, 1%nat)) 0%nat Keep (or_introl eq_refl)). pose proof (N (Some (tt, 1%nat)) 0%nat Push (or_introl eq_refl)).
    pose proof (N (Some (tt, 1%nat)) 1%nat Keep (or_intror (or_introl eq_refl))). pose proof (N (Some (tt, 1%nat)) 1%nat Push (or_intror (or_introl eq_refl))).
    fold k in Hk, A. fold p1 in Hp, A. fold e0 in A. fold y z in B.
    assert (E0 : e0 = 1 - k - p1) by lra. assert (Z0 : z = 1 - y) by lra.
    assert (Y0 : 0 <= y <= 1) by (unfold y, z in *; lra). assert (K0 : k + p1 <= 1) by (unfold e0 in *; lra).
    rewrite V, E0, Z0. clearbody k p1 y. clear -Hk Hp Y0 K0.
    assert (T1 : p1 * (y * (2 * (1 - y) + y)) <= p1 * 1).
    { apply Rmult_le_compat_l; auto. replace (y * (2 * (1 - y) + y)) with (1 - (1 - y) ^ 2) by ring.
      pose proof (pow2_ge_0 (1 - y)). lra. }
    assert (T2 : k * p1 * (2 * (1 - y) + y) <= k * p1 * 2).
    { apply Rmult_le_compat_l; [apply Rmult_le_pos; auto|lra]. }
    assert (T3 : (k + p1) * (1 + 2 * k - k * k) <= 1 * (1 + 2 * k - k * k)).
    { apply Rmult_le_compat_r; auto. assert (0 <= k * (1 - k)) by (apply Rmult_le_pos; lra). lra. }
    pose proof (pow2_ge_0 (k - 1 / 2)) as T4. simpl in T4.
    replace (k * (k * (2 * (1 - k - p1) + k + p1) + p1 * (2 * (1 - y) + y)) + p1 * (y * (2 * (1 - y) + y)))
      with (k * k * (2 - k - p1) + k * p1 * (2 * (1 - y) + y) + p1 * (y * (2 * (1 - y) + y))) by ring.
    lra.
  - apply (three_best corner 2 1 1 0); simpl; auto.
    intros a b c [<-|[<-|[]]] [<-|[<-|[]]] [<-|[<-|[]]]; unfold corner, cube; simpl; lra.
Qed.
