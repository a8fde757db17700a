(* T.saddle: on [[0, 1], [1, 0]] the loop from uniform with no memory, K1, B1 or O1 stays within eps/2
   of playing both actions alike, for every step in (0, 1], and is worth at most 1/2 for ever. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Ties Improvement.
Import ListNotations.
Open Scope R_scope.

Definition other (i j : nat) : R := if Nat.eqb i j then 0 else 1.
Definition away : pomdp := table 2 other.

(* memories in which what is written does not depend on the action; m1 is what the highest write
   leaves, and every write leaves m0 or m1 *)
Section Saddle.
Variables (M W : Type) (ws : list W) (f : M -> W -> M) (m0 : M) (top : W).
Variables (Md : forall x y : M, {x = y} + {x <> y}) (Wd : forall x y : W, {x = y} + {x <> y}).
Notation m1 := (f m0 top).
Hypothesis Hws : NoDup ws.
Hypothesis Htop : In top ws.
Variable u : M -> W -> unit -> nat -> M.
Hypothesis Hu : forall m w a, u m w tt a = f m w.
Notation E := (augment away (det (P := away) M W ws u m0 Md Wd)).
(* the highest write wins ties, then the lower action *)
Variable rest : list (nat * W).
Definition rule : order E := ((0%nat, top), (1%nat, top) :: rest).
Variable eps : R.
Hypothesis He : 0 < eps <= 1.

Definition L : R := INR (length ws).
Lemma L_pos : 1 <= L.
Proof.
  unfold L. destruct ws; [contradiction|]. change 1 with (INR 1). apply le_INR. simpl. lia.
Qed.
(* the iterates: x is what is left of uniform, p the probability of 1 *)
Definition alike (x p : R) (i : nat) (w : W) : R :=
  x / (2 * L) + (if Wd w top then (if Nat.eqb i 0 then 1 - p else p) - x / 2 else 0).
Lemma sum_writes (g : W -> R) c : sum ws (fun w => c + (if Wd w top then g w else 0)) = L * c + g top.
Proof.
  rewrite sum_plus, sum_const. rewrite (sum_if Wd ws top g); auto.
Qed.
Lemma act_alike x p i : sum ws (alike x p i) = if Nat.eqb i 0 then 1 - p else p.
Proof.
  unfold alike. rewrite (sum_writes (fun _ => (if Nat.eqb i 0 then 1 - p else p) - x / 2)).
  pose proof L_pos. field. lra.
Qed.
Implicit Types (pi : policy E).
Definition on_rows pi x p : Prop :=
  forall m i w, (m = m0 \/ m = m1) -> (i < 2)%nat -> In w ws -> pi (m, tt) (i, w) = alike x p i w.

Lemma sum_choices (g : nat * W -> R) :
  sum (choices 2 W ws) g = sum ws (fun w => g (0%nat, w)) + sum ws (fun w => g (1%nat, w)).
Proof. unfold choices. rewrite sum_list_prod. simpl. ring. Qed.
Lemma later_alike pi x p a m : on_rows pi x p -> (m = m0 \/ m = m1) -> (a < 2)%nat ->
  later 2 other M W ws u m0 Md Wd pi a m = if Nat.eqb a 0 then p else 1 - p.
Proof.
  intros H Hm Ha. unfold later. rewrite sum_choices. cbn [fst].
  rewrite !sum_scal_r.
  rewrite (sum_ext_in ws (fun w => pi (m, tt) (0%nat, w)) (alike x p 0)) by (intros; apply H; auto).
  rewrite (sum_ext_in ws (fun w => pi (m, tt) (1%nat, w)) (alike x p 1)) by (intros; apply H; auto).
  rewrite !act_alike. destruct a as [|[|a]]; [| |lia]; unfold other; simpl; ring.
Qed.
(* what the highest write leaves in the row m *)
Notation at_top m := (is M Md m1 m).
Definition lows (m : M) : R := sum ws (fun w => is M Md (f m0 w) m).
Lemma lows_pos m : at_top m <= lows m.
Proof.
  unfold lows. apply (sum_pos_term ws (fun w => is M Md (f m0 w) m)); auto.
  intros w _. unfold is. destruct (Md _ _); lra.
Qed.
Lemma written x p i m : sum ws (fun w => alike x p i w * is M Md (f m0 w) m) =
  x / (2 * L) * lows m + ((if Nat.eqb i 0 then 1 - p else p) - x / 2) * at_top m.
Proof.
  unfold lows. rewrite <- sum_scal.
  rewrite (sum_ext ws _ (fun w => x / (2 * L) * is M Md (f m0 w) m +
    (if Wd w top then ((if Nat.eqb i 0 then 1 - p else p) - x / 2) * is M Md (f m0 w) m else 0))).
  - rewrite sum_plus. f_equal.
    apply (sum_if Wd ws top (fun w => ((if Nat.eqb i 0 then 1 - p else p) - x / 2) * is M Md (f m0 w) m)); auto.
  - intros w. unfold alike. destruct (Wd w top); ring.
Qed.
Lemma came_alike pi x p m : on_rows pi x p -> came 2 other M W ws u m0 Md Wd pi m
  = x / L * lows m + (1 - x) * at_top m.
Proof.
  intros H. unfold came. rewrite sum_choices. unfold to. cbn [fst snd].
  rewrite (sum_ext_in ws (fun w => pi (m0, tt) (0%nat, w) * is M Md (u m0 w tt 0%nat) m)
    (fun w => alike x p 0 w * is M Md (f m0 w) m)) by (intros; rewrite H, Hu; auto).
  rewrite (sum_ext_in ws (fun w => pi (m0, tt) (1%nat, w) * is M Md (u m0 w tt 1%nat) m)
    (fun w => alike x p 1 w * is M Md (f m0 w) m)) by (intros; rewrite H, Hu; auto).
  rewrite !written. simpl. pose proof L_pos. field. lra.
Qed.
Lemma earned_alike pi x p m a : on_rows pi x p -> (a < 2)%nat ->
  earned 2 other M W ws u m0 Md Wd pi m a
  = x / (2 * L) * lows m + ((if Nat.eqb a 0 then p else 1 - p) - x / 2) * at_top m.
Proof.
  intros H Ha. unfold earned. rewrite sum_choices. unfold to. cbn [fst snd].
  rewrite (sum_ext_in ws (fun w => pi (m0, tt) (0%nat, w) * (is M Md (u m0 w tt 0%nat) m * other 0 a))
    (fun w => alike x p 0 w * is M Md (f m0 w) m * other 0 a)) by (intros; rewrite H, Hu; auto; ring).
  rewrite (sum_ext_in ws (fun w => pi (m0, tt) (1%nat, w) * (is M Md (u m0 w tt 1%nat) m * other 1 a))
    (fun w => alike x p 1 w * is M Md (f m0 w) m * other 1 a)) by (intros; rewrite H, Hu; auto; ring).
  rewrite !sum_scal_r, !written. destruct a as [|[|a]]; [| |lia]; unfold other; simpl; ring.
Qed.
Hypothesis Hrest : forall b, In b rest -> (fst b < 2)%nat /\ In (snd b) ws.
Hypothesis Hrows : forall w, In w ws -> f m0 w = m0 \/ f m0 w = m1.

(* in both rows q(1, w) - q(0, w') has the sign of 1 - 2p, whatever is written *)
Lemma q_alike pi x p m a w : on_rows pi x p -> (m = m0 \/ m = m1) -> (a < 2)%nat -> In w ws ->
  q (P := E) 2 pi (m, tt) (a, w) = (x / (2 * L) * lows m - x / 2 * at_top m +
    (is M Md m0 m + at_top m) * (if Nat.eqb a 0 then p else 1 - p)) / visits (P := E) 2 pi (m, tt).
Proof.
  intros H Hm Ha Hw.
  etransitivity; [apply (q_table 2 other M W ws u m0 Md Wd pi m (a, w))|].
  rewrite <- (visits_table 2 other M W ws u m0 Md Wd pi m). f_equal.
  unfold to. cbn [fst snd]. rewrite (earned_alike pi x p m a H Ha), Hu.
  rewrite (later_alike pi x p a _ H) by auto. ring.
Qed.
Lemma visited pi x p m : on_rows pi x p -> 0 <= x <= 1 -> (m = m0 \/ m = m1) ->
  0 < visits (P := E) 2 pi (m, tt) /\ 0 < is M Md m0 m + at_top m.
Proof.
  intros H Hx Hm.
  pose proof (visits_table 2 other M W ws u m0 Md Wd pi m) as V. rewrite (came_alike pi x p m H) in V.
  pose proof (lows_pos m) as Lp. pose proof L_pos as L1.
  assert (0 <= at_top m) by (unfold is; destruct (Md _ _); lra).
  assert (0 <= x / L) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  assert (0 <= x / L * lows m) by (apply Rmult_le_pos; lra).
  assert (0 <= (1 - x) * at_top m) by (apply Rmult_le_pos; lra).
  assert (T : is M Md m0 m = 1 \/ at_top m = 1).
  { unfold is. destruct Hm as [->| ->]; [left; destruct (Md m0 m0)|right; destruct (Md m1 m1)]; auto; contradiction. }
  assert (0 <= is M Md m0 m) by (unfold is; destruct (Md _ _); lra).
  split; [|lra]. eapply Rlt_le_trans; [|right; symmetry; exact V].
  destruct T as [T|T]; [lra|]. rewrite T in *.
  destruct (Req_dec x 0) as [->|Nx]; [lra|].
  assert (0 < x / L * lows m).
  { apply Rmult_lt_0_compat; [|lra]. apply Rdiv_lt_0_compat; lra. }
  lra.
Qed.
Lemma greedy_alike pi x p m : on_rows pi x p -> 0 <= x <= 1 -> (m = m0 \/ m = m1) ->
  greedy (P := E) 2 rule pi (m, tt) = ((if Rlt_dec p (1 / 2) then 1%nat else 0%nat), top).
Proof.
  intros H Hx Hm. destruct (visited pi x p m H Hx Hm) as [V G].
  assert (IV : 0 < / visits (P := E) 2 pi (m, tt)) by (apply Rinv_0_lt_compat; auto).
  assert (C : forall a w a' w', (a < 2)%nat -> In w ws -> (a' < 2)%nat -> In w' ws ->
    q (P := E) 2 pi (m, tt) (a, w) - q (P := E) 2 pi (m, tt) (a', w') =
    ((is M Md m0 m + at_top m) * / visits (P := E) 2 pi (m, tt)) *
    ((if Nat.eqb a 0 then p else 1 - p) - (if Nat.eqb a' 0 then p else 1 - p))).
  { intros a w a' w' Ha Hw Ha' Hw'. rewrite !(q_alike pi x p m) by auto. unfold Rdiv. ring. }
  set (g := (is M Md m0 m + at_top m) * / visits (P := E) 2 pi (m, tt)) in *.
  assert (Hg : 0 < g) by (apply Rmult_lt_0_compat; lra).
  unfold greedy, rule. cbn [fst snd].
  destruct (Rlt_dec p (1 / 2)) as [Lt|Ge].
  - apply (argmax_is (P := E) (q 2 pi (m, tt)) (0%nat, top) ((1%nat, top) :: rest) [(0%nat, top)] rest (1%nat, top));
      [reflexivity| |].
    + intros y [<-|[]]. specialize (C 1%nat top 0%nat top ltac:(lia) Htop ltac:(lia) Htop). simpl in C.
      assert (0 < g * (1 - p - p)) by (apply Rmult_lt_0_compat; lra).
      apply Rminus_gt_0_lt, Rlt_gt. eapply Rlt_le_trans; [eassumption|right; symmetry; exact C].
    + intros [a w] I. destruct (Hrest _ I) as [Ha Hw]. cbn [fst snd] in *.
      specialize (C 1%nat top a w ltac:(lia) Htop Ha Hw). simpl (Nat.eqb 1 0) in C. cbv iota in C.
      assert (0 <= g * (1 - p - (if Nat.eqb a 0 then p else 1 - p))).
      { apply Rmult_le_pos; [lra|]. destruct (Nat.eqb a 0); lra. }
      apply Rge_le, Rminus_ge, Rle_ge.
      eapply Rle_trans; [eassumption|right; symmetry; exact C].
  - apply (argmax_first (P := E) (q 2 pi (m, tt)) (0%nat, top) ((1%nat, top) :: rest)).
    assert (X : forall a w, (a < 2)%nat -> In w ws -> q (P := E) 2 pi (m, tt) (a, w) <= q (P := E) 2 pi (m, tt) (0%nat, top)).
    { intros a w Ha Hw. specialize (C 0%nat top a w ltac:(lia) Htop Ha Hw). simpl (Nat.eqb 0 0) in C. cbv iota in C.
      assert (0 <= g * (p - (if Nat.eqb a 0 then p else 1 - p))).
      { apply Rmult_le_pos; [lra|]. destruct (Nat.eqb a 0); lra. }
      lra. }
    intros [a w] [I|I]; [injection I as <- <-; apply X; auto|]. destruct (Hrest _ I) as [Ha Hw]. apply X; auto.
Qed.
(* the probability of 1 *)
Fixpoint p_of (t : nat) : R :=
  match t with
  | O => 1 / 2
  | S k => (1 - eps) * p_of k + (if Rlt_dec (p_of k) (1 / 2) then eps else 0)
  end.
Lemma band t : 1 / 2 - eps / 2 <= p_of t <= 1 / 2 + eps / 2.
Proof.
  induction t as [|t IH]; cbn [p_of]; [lra|]. destruct (Rlt_dec (p_of t) (1 / 2)) as [C|C].
  - assert ((1 - eps) * (1 / 2 - eps / 2) <= (1 - eps) * p_of t) by (apply Rmult_le_compat_l; lra).
    assert ((1 - eps) * p_of t <= (1 - eps) * (1 / 2)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= eps * eps) by (apply Rmult_le_pos; lra). lra.
  - assert ((1 - eps) * p_of t <= (1 - eps) * (1 / 2 + eps / 2)) by (apply Rmult_le_compat_l; lra).
    assert ((1 - eps) * (1 / 2) <= (1 - eps) * p_of t) by (apply Rmult_le_compat_l; lra).
    assert (0 <= eps * eps) by (apply Rmult_le_pos; lra). lra.
Qed.
Notation run := (loop (P := E) 2 rule eps (uniform E)).
Lemma on_the_line t : on_rows (run t) ((1 - eps) ^ t) (p_of t).
Proof.
  induction t as [|t IH]; intros m i w Hm Hi Hw.
  - unfold alike. simpl. unfold uniform.
    replace (INR (length (acts E))) with (2 * L).
    + pose proof L_pos. destruct (Wd w top), (Nat.eqb i 0); field; lra.
    + transitivity (INR (length (list_prod (seq 0 2) ws))); [|reflexivity].
      rewrite prod_length, mult_INR. unfold L. simpl. ring.
  - assert (Hx : 0 <= (1 - eps) ^ t <= 1) by (apply pow_range; lra).
    change (run (S t)) with (improve (P := E) 2 rule eps (run t)). unfold improve.
    destruct (visited (run t) _ _ m IH Hx Hm) as [V _].
    destruct (Rlt_dec 0 (visits (P := E) 2 (run t) (m, tt))) as [_|N]; [|contradiction].
    rewrite (greedy_alike (run t) _ _ m IH Hx Hm), (IH m i w Hm Hi Hw). cbn [p_of].
    match goal with |- context [eps * (if ?c then 1 else 0)] => destruct c as [Eq|Ne] end.
    + injection Eq as Ei Ew. subst w. unfold alike. destruct (Wd top top); [|contradiction]. simpl pow.
      pose proof L_pos. destruct (Rlt_dec (p_of t) (1 / 2)); subst i; simpl; field; lra.
    + unfold alike. simpl pow. pose proof L_pos. destruct (Wd w top) as [->|].
      * destruct i as [|[|i]]; [| |lia]; destruct (Rlt_dec (p_of t) (1 / 2)); simpl;
          try (exfalso; apply Ne; reflexivity); field; lra.
      * field. lra.
Qed.
(* T.saddle: the probability of 1 in both rows, and the return *)
Theorem stays_at_the_saddle t :
  (forall m, m = m0 \/ m = m1 -> Rabs (sum ws (fun w => run t (m, tt) (1%nat, w)) - 1 / 2) <= eps / 2) /\
  value_n (P := E) (run t) 2 <= 1 / 2.
Proof.
  pose proof (on_the_line t) as H. pose proof (band t) as B. split.
  - intros m Hm. rewrite (sum_ext_in ws _ (alike ((1 - eps) ^ t) (p_of t) 1)) by (intros; apply H; auto).
    rewrite act_alike. simpl. apply Rabs_le. lra.
  - assert (V : value_n (P := E) (run t) 2 = 2 * p_of t * (1 - p_of t)).
    { etransitivity; [apply (value_table 2 other M W ws u m0 Md Wd (run t) 0)|]. rewrite sum_choices. unfold to. cbn [fst snd].
      rewrite (sum_ext_in ws _ (fun w => alike ((1 - eps) ^ t) (p_of t) 0 w * p_of t)).
      2:{ intros w Hw. rewrite Hu, (later_alike _ _ _ _ _ H) by auto. rewrite H by auto. reflexivity. }
      rewrite (sum_ext_in ws (fun w => run t (m0, tt) (1%nat, w) * _) (fun w => alike ((1 - eps) ^ t) (p_of t) 1 w * (1 - p_of t))).
      2:{ intros w Hw. rewrite Hu, (later_alike _ _ _ _ _ H) by auto. rewrite H by auto. reflexivity. }
      rewrite !sum_scal_r, !act_alike. simpl. ring. }
    rewrite V. replace (2 * p_of t * (1 - p_of t)) with (1 / 2 - 2 * (p_of t - 1 / 2) ^ 2) by field.
    pose proof (pow2_ge_0 (p_of t - 1 / 2)). lra.
Qed.
End Saddle.

(** * The four memories, and what three of them could do *)

Definition none_rule : order (augment away (none away)) := ((0%nat, tt), [(1%nat, tt)]).
Theorem saddle_none eps t : 0 < eps <= 1 ->
  let run := loop (P := augment away (none away)) 2 none_rule eps (uniform _) in
  Rabs (run t (tt, tt) (1%nat, tt) - 1 / 2) <= eps / 2 /\ value_n (run t) 2 <= 1 / 2.
Proof.
  intros He.
  destruct (stays_at_the_saddle unit unit [tt] (fun _ _ => tt) tt tt unit_dec unit_dec ltac:(repeat constructor; simpl; tauto)
    ltac:(simpl; auto) (fun _ _ _ _ => tt) ltac:(reflexivity) [] eps He ltac:(simpl; tauto) ltac:(auto) t) as [A B].
  split; [|exact B]. specialize (A tt (or_introl eq_refl)). simpl sum in A. rewrite Rplus_0_r in A. exact A.
Qed.
Definition K1_rule : order (augment away (K1 away)) := ((0%nat, Push), [(1%nat, Push)]).
Theorem saddle_K1 eps t : 0 < eps <= 1 ->
  let run := loop (P := augment away (K1 away)) 2 K1_rule eps (uniform _) in
  (forall m, m = None \/ m = Some tt ->
     Rabs (sum [Push] (fun w => run t (m, tt) (1%nat, w)) - 1 / 2) <= eps / 2) /\ value_n (run t) 2 <= 1 / 2.
Proof.
  intros He.
  apply (stays_at_the_saddle (option unit) hold [Push] (fun _ _ => Some tt) None Push (option_dec unit_dec) hold_dec
    ltac:(repeat constructor; simpl; tauto) ltac:(simpl; auto) (fun _ _ o _ => Some o) ltac:(reflexivity) []
    eps He ltac:(simpl; tauto) ltac:(auto) t).
Qed.
Theorem saddle_B1 eps t : 0 < eps <= 1 ->
  let run := loop (P := augment away (B away 1)) 2 (by_write 2 2) eps (uniform _) in
  (forall m, m = 0%nat \/ m = 1%nat ->
     Rabs (sum [0%nat; 1%nat] (fun w => run t (m, tt) (1%nat, w)) - 1 / 2) <= eps / 2) /\
  value_n (run t) 2 <= 1 / 2.
Proof.
  intros He.
  apply (stays_at_the_saddle nat nat [0%nat; 1%nat] (fun _ w => w) 0%nat 1%nat Nat.eq_dec Nat.eq_dec
    ltac:(repeat constructor; simpl; lia) ltac:(simpl; auto) (fun _ w _ _ => w) ltac:(reflexivity)
    [(0%nat, 0%nat); (1%nat, 0%nat)] eps He).
  - intros b [<-|[<-|[]]]; simpl; auto.
  - intros w [<-|[<-|[]]]; auto.
Qed.
Definition O1_rule : order (augment away (O1 away)) :=
  ((0%nat, Push), [(1%nat, Push); (0%nat, Keep); (1%nat, Keep)]).
Theorem saddle_O1 eps t : 0 < eps <= 1 ->
  let run := loop (P := augment away (O1 away)) 2 O1_rule eps (uniform _) in
  (forall m, m = None \/ m = Some tt ->
     Rabs (sum [Keep; Push] (fun w => run t (m, tt) (1%nat, w)) - 1 / 2) <= eps / 2) /\
  value_n (run t) 2 <= 1 / 2.
Proof.
  intros He.
  apply (stays_at_the_saddle (option unit) hold [Keep; Push]
    (fun m w => match w with Keep => m | Push => Some tt end) None Push (option_dec unit_dec) hold_dec
    ltac:(repeat constructor; simpl; intuition discriminate) ltac:(simpl; auto)
    (fun m w o _ => match w with Keep => m | Push => Some o end) ltac:(intros ? [] ?; reflexivity)
    [(0%nat, Keep); (1%nat, Keep)] eps He).
  - intros b [<-|[<-|[]]]; simpl; auto.
  - intros w [<-|[<-|[]]]; auto.
Qed.
(* 0 and the highest write, then 1: worth 1 *)
Theorem saddle_optimum :
  value_n (P := augment away (K1 away)) (one_hot (P := augment away (K1 away))
    (fun o => (match fst o with None => 0%nat | _ => 1%nat end, Push))) 2 = 1 /\
  value_n (P := augment away (B away 1)) (one_hot (P := augment away (B away 1))
    (fun o => (if Nat.eqb (fst o) 0 then 0%nat else 1%nat, 1%nat))) 2 = 1 /\
  value_n (P := augment away (O1 away)) (one_hot (P := augment away (O1 away))
    (fun o => (match fst o with None => 0%nat | _ => 1%nat end, Push))) 2 = 1.
Proof.
  repeat split; (etransitivity; [apply value_table|]);
    unfold choices, later, choices, one_hot, to, other; simpl; ring.
Qed.
