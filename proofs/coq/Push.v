(* T.push: the theorem, and what happens with full steps, with fewer cells, with observations alone. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Improvement Histories.
Import ListNotations.
Open Scope R_scope.

(* On every task of at most N + 1 steps the loop with window(N) from uniform, with steps in (0, 1) and
   any rule for ties, is after i steps within C P(fewer than N + 1 of i coins of chance eps show heads)
   <= C (N + 1)/(i eps) of the best history-based value. *)
Theorem push_is_never_stuck (P : pomdp) (N : nat) (best C eps : R)
  (run : nat -> policy (augment P (window P N))) :
  is_pomdp P -> horizon P (S N) -> is_best_history P (S N) best -> lacks_at_most P N C ->
  0 < eps < 1 -> is_run (S N) eps (uniform _) run -> forall i,
  value_n (run i) (S N) <= best /\
  best - value_n (run i) (S N) <= C * few_heads eps i (S N) /\
  INR i * eps * few_heads eps i (S N) <= INR (S N).
Proof. intros HP H B L He R i. apply (window_is_never_stuck P N HP H best C eps run B L He R). Qed.
Theorem push_comes_to_the_best (P : pomdp) (N : nat) (best eps : R)
  (run : nat -> policy (augment P (window P N))) :
  is_pomdp P -> horizon P (S N) -> is_best_history P (S N) best ->
  0 < eps < 1 -> is_run (S N) eps (uniform _) run -> Un_cv (fun i => value_n (run i) (S N)) best.
Proof.
  intros HP H B He R. destruct (lack_exists P N HP) as [C L].
  apply (window_converges P N HP H best C eps run B L He R).
Qed.
(* there always is a best value and a first lack, so that this is about something *)
Theorem push_has_bounds (P : pomdp) (N : nat) : is_pomdp P ->
  (exists best, is_best_history P (S N) best) /\ (exists C, lacks_at_most P N C).
Proof. intros HP. split; [apply best_history_exists|apply lack_exists]; auto. Qed.

(** * Tables of three steps *)

(* two actions, one observation; the states are what was done, the newest first; r a b c at the end *)
Definition three (r : nat -> nat -> nat -> R) : pomdp :=
  Pomdp (list nat) unit nat [0%nat; 1%nat]
    (fun s a => ret (a :: s, match s with [b; c] => r c b a | _ => 0 end))
    (fun _ => ret tt) 1 (ret [])
    (fun s => Nat.leb 3 (length s)) unit_dec Nat.eq_dec.
Lemma three_is_pomdp r : is_pomdp (three r).
Proof.
  constructor; simpl; try lra; intros; try apply is_dist_ret; try discriminate.
  repeat constructor; simpl; intuition discriminate.
Qed.
Lemma three_horizon r : horizon (three r) 3.
Proof.
  intros y [<-|[]]. simpl. right. intros a y _ [<-|[]]. simpl. right.
  intros b z _ [<-|[]]. simpl. right. intros c w _ [<-|[]]. simpl. auto.
Qed.
(* what is written as [[[., .], [., .]], [[., .], [., .]]] *)
Definition cube (x : list (list (list R))) (a b c : nat) : R := nth c (nth b (nth a x []) []) 0.

Section Three.
Variables (r : nat -> nat -> nat -> R) (M W : Type) (ws : list W) (u : M -> W -> unit -> nat -> M) (m0 : M).
Variables (Md : forall x y : M, {x = y} + {x <> y}) (Wd : forall x y : W, {x = y} + {x <> y}).
Notation P := (three r).
Notation E := (augment P (det (P := P) M W ws u m0 Md Wd)).
Implicit Types (pi : policy E).
(* the mean over what pi does in row m *)
Definition over pi (m : M) (f : nat -> W -> R) : R :=
  sum [0%nat; 1%nat] (fun a => sum ws (fun w => pi (m, tt) (a, w) * f a w)).
Lemma over_ext pi m f g : (forall a w, In a [0%nat; 1%nat] -> f a w = g a w) -> over pi m f = over pi m g.
Proof.
  intros X. apply sum_ext_in. intros a Ha. apply sum_ext. intros w. rewrite X; auto.
Qed.
Lemma next_three (v : state E -> R) s x a w : next (P := E) v (s, x, tt) (a, w)
  = match s with [b; c] => r c b a | _ => 0 end + v (a :: s, u x w tt a, tt).
Proof.
  rewrite (next_det P M W ws u m0 Md Wd). simpl p. rewrite mean_ret. simpl omega. rewrite mean_ret.
  simpl. ring.
Qed.
Lemma vn_three pi n s x : vn (P := E) pi (S n) (s, x, tt) = if Nat.leb 3 (length s) then 0 else
  over pi x (fun a w => match s with [b; c] => r c b a | _ => 0 end + vn (P := E) pi n (a :: s, u x w tt a, tt)).
Proof.
  cbn [vn]. rewrite (backup_det P M W ws u m0 Md Wd). change (terminal P s) with (Nat.leb 3 (length s)).
  destruct (Nat.leb 3 (length s)); auto. apply sum_ext. intros a. apply sum_ext. intros w.
  rewrite next_three. auto.
Qed.
Lemma vn_last pi n a b c x : vn (P := E) pi n ([a; b; c], x, tt) = 0.
Proof. destruct n; reflexivity. Qed.
Lemma vn_third pi n a b x : vn (P := E) pi (S n) ([b; a], x, tt) = over pi x (fun c _ => r a b c).
Proof. rewrite vn_three. simpl Nat.leb. apply over_ext. intros c w _. rewrite vn_last. ring. Qed.
Lemma vn_second pi n a x : vn (P := E) pi (S (S n)) ([a], x, tt)
  = over pi x (fun b w => over pi (u x w tt b) (fun c _ => r a b c)).
Proof. rewrite vn_three. simpl Nat.leb. apply over_ext. intros b w _. rewrite vn_third. ring. Qed.
Lemma value_three pi : value_n (P := E) pi 3 = over pi m0 (fun a w =>
  over pi (u m0 w tt a) (fun b w' => over pi (u (u m0 w tt a) w' tt b) (fun c _ => r a b c))).
Proof.
  unfold value_n. rewrite (mean_mu P M W ws u m0 Md Wd). simpl mu. rewrite mean_ret. simpl omega. rewrite mean_ret.
  rewrite vn_three. simpl Nat.leb. apply over_ext. intros a w _. rewrite vn_second. ring.
Qed.
Lemma go_three pi f s x : go (P := E) pi f (s, x, tt) = if Nat.leb 3 (length s) then 0 else
  over pi x (fun a w => f (a :: s, u x w tt a, tt)).
Proof.
  rewrite (go_det P M W ws u m0 Md Wd). change (terminal P s) with (Nat.leb 3 (length s)).
  destruct (Nat.leb 3 (length s)); auto. apply sum_ext. intros a. apply sum_ext. intros w. f_equal.
  simpl p. rewrite mean_ret. simpl omega. rewrite mean_ret. reflexivity.
Qed.
Definition here (x m : M) : R := if Md x m then 1 else 0.
Lemma sees_three s x m : sees (P := E) (s, x, tt) (m, tt) = if Nat.leb 3 (length s) then 0 else here x m.
Proof.
  rewrite (sees_det P M W ws u m0 Md Wd). change (terminal P s) with (Nat.leb 3 (length s)). unfold here.
  simpl obs_dec. destruct (Md x m), (Nat.leb 3 (length s)); auto.
Qed.
(* visits times the mean of f over them *)
Lemma behind_three pi m f : behind_n (P := E) 1 pi 3 (m, tt) f =
  here m0 m * f ([], m0, tt)
  + over pi m0 (fun a w => here (u m0 w tt a) m * f ([a], u m0 w tt a, tt))
  + over pi m0 (fun a w => over pi (u m0 w tt a) (fun b w' =>
      here (u (u m0 w tt a) w' tt b) m * f ([b; a], u (u m0 w tt a) w' tt b, tt))).
Proof.
  assert (X0 : forall F, expect (P := E) pi 0 F = F ([], m0, tt)).
  { intros F. simpl expect. rewrite (mean_mu P M W ws u m0 Md Wd). simpl mu. rewrite mean_ret. simpl omega.
    rewrite mean_ret. reflexivity. }
  assert (X1 : forall F, expect (P := E) pi 1 F = over pi m0 (fun a w => F ([a], u m0 w tt a, tt))).
  { intros F. change (expect (P := E) pi 1 F) with (expect (P := E) pi 0 (go (P := E) pi F)). rewrite X0, go_three. auto. }
  assert (X2 : forall F, expect (P := E) pi 2 F = over pi m0 (fun a w => over pi (u m0 w tt a) (fun b w' =>
      F ([b; a], u (u m0 w tt a) w' tt b, tt)))).
  { intros F. change (expect (P := E) pi 2 F) with (expect (P := E) pi 1 (go (P := E) pi F)). rewrite X1.
    apply over_ext. intros a w _. apply go_three. }
  assert (Y : forall x y z x' y' z' : R, x = x' -> y = y' -> z = z' ->
    1 ^ 0 * x + (1 ^ 1 * y + (1 ^ 2 * z + 0)) = x' + y' + z') by (intros; subst; simpl; ring).
  unfold behind_n, sumn. simpl seq. cbn [sum]. rewrite X0, X1, X2. apply Y.
  - rewrite sees_three. auto.
  - apply over_ext. intros. rewrite sees_three. auto.
  - apply over_ext. intros. apply over_ext. intros. rewrite sees_three. auto.
Qed.
Lemma visits_three pi m : visits (P := E) 3 pi (m, tt) = behind_n (P := E) 1 pi 3 (m, tt) (fun _ => 1).
Proof. apply sum_ext. intros t. f_equal. apply expect_ext. intros; ring. Qed.
Lemma q_first pi x a w : qn (P := E) pi 3 ([], x, tt) (a, w) =
  over pi (u x w tt a) (fun b w' => over pi (u (u x w tt a) w' tt b) (fun c _ => r a b c)).
Proof. unfold qn. rewrite next_three, vn_second. ring. Qed.
Lemma q_second pi x a b w : qn (P := E) pi 3 ([a], x, tt) (b, w) = over pi (u x w tt b) (fun c _ => r a b c).
Proof. unfold qn. rewrite next_three, vn_third. ring. Qed.
Lemma q_third pi x a b c w : qn (P := E) pi 3 ([b; a], x, tt) (c, w) = r a b c.
Proof. unfold qn. rewrite next_three, vn_last. ring. Qed.
Lemma over_row pi m : is_policy pi -> over pi m (fun _ _ => 1) = 1.
Proof.
  intros Hp. destruct (Hp (m, tt)) as [_ S]. transitivity (sum (acts E) (pi (m, tt))); [|exact S].
  etransitivity; [|symmetry; apply (sum_det P M W ws u m0 Md Wd)]. apply sum_ext. intros a. apply sum_ext.
  intros w. apply Rmult_1_r.
Qed.
Lemma over_le pi m f x : is_policy pi -> (forall a w, In a [0%nat; 1%nat] -> In w ws -> f a w <= x) -> over pi m f <= x.
Proof.
  intros Hp L. pose proof (over_row pi m Hp) as O.
  apply Rle_trans with (over pi m (fun _ _ => x)).
  - apply sum_le. intros a Ha. apply sum_le. intros w Hw. apply Rmult_le_compat_l; auto.
    destruct (Hp (m, tt)) as [N _]. apply N. apply (in_prod [0%nat; 1%nat] ws); auto.
  - replace (over pi m (fun _ _ => x)) with (over pi m (fun _ _ => 1) * x); [rewrite O; lra|].
    unfold over. rewrite <- sum_scal_r. apply sum_ext. intros a. rewrite <- sum_scal_r. apply sum_ext. intros; ring.
Qed.
End Three.

Lemma three_at_most r m : (forall a b c, In a [0%nat; 1%nat] -> In b [0%nat; 1%nat] -> In c [0%nat; 1%nat] -> r a b c <= m) ->
  forall rho : policy (augment (three r) (everything (three r))), is_policy rho -> value_n rho 3 <= m.
Proof.
  intros L rho H. eapply Rle_trans; [right; apply (value_three r (pairs (three r)) hold [Push] (fun l _ o a => (o, a) :: l) [] (pairs_dec (three r)) hold_dec rho)|].
  apply over_le; auto. intros a w Ha _. apply over_le; auto. intros b w' Hb _. apply over_le; auto.
Qed.
(* the policy that does a, b, c *)
Definition does (a b c : nat) r : policy (augment (three r) (everything (three r))) :=
  one_hot (P := augment (three r) (everything (three r)))
    (fun y => (match fst y with [] => a | [_] => b | _ => c end, Push)).
Lemma does_value a b c r : In a [0%nat; 1%nat] -> In b [0%nat; 1%nat] -> In c [0%nat; 1%nat] ->
  is_policy (does a b c r) /\ value_n (does a b c r) 3 = r a b c.
Proof.
  intros Ha Hb Hc. split.
  - apply is_policy_one_hot.
    + apply (acts_once _ (augment_is_pomdp (three r) (everything (three r)) (three_is_pomdp r)
        (det_is_memory _ _ [Push] _ _ _ _ ltac:(repeat constructor; simpl; tauto) ltac:(discriminate)))).
    + intros [l o]. apply (in_prod [0%nat; 1%nat] [Push]); [|simpl; auto]. destruct l as [|x [|y l]]; auto.
  - etransitivity; [apply (value_three r (pairs (three r)) hold [Push] (fun l _ o a => (o, a) :: l) [] (pairs_dec (three r)) hold_dec (does a b c r))|].
    destruct Ha as [<-|[<-|[]]], Hb as [<-|[<-|[]]], Hc as [<-|[<-|[]]];
      unfold over, does, one_hot; simpl; ring.
Qed.
Lemma three_best r m a b c : In a [0%nat; 1%nat] -> In b [0%nat; 1%nat] -> In c [0%nat; 1%nat] -> r a b c = m ->
  (forall a b c, In a [0%nat; 1%nat] -> In b [0%nat; 1%nat] -> In c [0%nat; 1%nat] -> r a b c <= m) ->
  is_best_history (three r) 3 m.
Proof.
  intros Ha Hb Hc E L. split; [apply three_at_most; auto|]. exists (does a b c r).
  rewrite <- E. apply does_value; auto.
Qed.

(** * Full steps *)

(* With steps of 1, window(2) on [[[8, 8], [8, 8]], [[0, 10], [6, 6]]] is worth 8 after every step,
   whatever the rule for ties; the best is 10. *)
Definition full := cube [[[8; 8]; [8; 8]]; [[0; 10]; [6; 6]]].
Section Full.
Local Opaque full.
Notation P := (three full).
Notation E := (augment P (window P 2)).
Notation cell := (option (unit * nat)).
Notation push := (fun (m : list cell) (_ : hold) (o : unit) (a : nat) => tl (m ++ [Some (o, a)])).
Notation wdec := (list_eq_dec (option_dec (pair_dec (obs_dec P) (act_dec P)))).
Notation first := (@nil nat, [@None (unit * nat); None], tt).
Definition row0 : list cell := [None; None].
Definition row1 (a : nat) : list cell := [None; Some (tt, a)].
Definition row2 (a b : nat) : list cell := [Some (tt, a); Some (tt, b)].
Implicit Types (pi : policy E).
Definition at_row pi (m : list cell) (a : nat) : R := pi (m, tt) (a, Push).
Definition qr pi (m : list cell) (a : nat) : R := q (P := E) 3 pi (m, tt) (a, Push).
Lemma two_full pi m : is_policy pi -> at_row pi m 0 + at_row pi m 1 = 1.
Proof.
  intros H. pose proof (over_row full (list cell) hold [Push] push row0 wdec hold_dec pi m H) as O.
  rewrite <- O. unfold over, at_row, row0, row1, row2. simpl. ring.
Qed.
Lemma behind_full pi m f : behind_n (P := E) 1 pi 3 (m, tt) f =
  here (list cell) wdec row0 m * f ([], row0, tt)
  + over full (list cell) hold [Push] push row0 wdec hold_dec pi row0 (fun a w =>
      here (list cell) wdec (row1 a) m * f ([a], row1 a, tt))
  + over full (list cell) hold [Push] push row0 wdec hold_dec pi row0 (fun a w =>
      over full (list cell) hold [Push] push row0 wdec hold_dec pi (row1 a) (fun b w' =>
      here (list cell) wdec (row2 a b) m * f ([b; a], row2 a b, tt))).
Proof. apply (behind_three full (list cell) hold [Push] push row0 wdec hold_dec pi m f). Qed.
Lemma visits_full pi m : visits (P := E) 3 pi (m, tt) = behind_n (P := E) 1 pi 3 (m, tt) (fun _ => 1).
Proof. apply (visits_three full (list cell) hold [Push] push row0 wdec hold_dec pi m). Qed.
Lemma behind_row0 pi f : behind_n (P := E) 1 pi 3 (row0, tt) f = f ([], row0, tt).
Proof. rewrite behind_full. unfold over, here. simpl. ring. Qed.
Lemma behind_row1 pi f : behind_n (P := E) 1 pi 3 (row1 1, tt) f = at_row pi row0 1 * f ([1%nat], row1 1, tt).
Proof. rewrite behind_full. unfold over, here, at_row. simpl. ring. Qed.
Lemma q_row0 pi a : qr pi row0 a =
  at_row pi (row1 a) 0 * (at_row pi (row2 a 0) 0 * full a 0 0 + at_row pi (row2 a 0) 1 * full a 0 1) +
  at_row pi (row1 a) 1 * (at_row pi (row2 a 1) 0 * full a 1 0 + at_row pi (row2 a 1) 1 * full a 1 1).
Proof.
  unfold qr, q. rewrite visits_full, !behind_row0. unfold Rdiv. rewrite Rinv_1, Rmult_1_r.
  etransitivity; [apply (q_first full (list cell) hold [Push] push row0 wdec hold_dec pi row0 a Push)|].
  unfold over, at_row, row0, row1, row2. simpl. ring.
Qed.
Lemma q_row1 pi b : at_row pi row0 1 <> 0 -> qr pi (row1 1) b =
  at_row pi (row2 1 b) 0 * full 1 b 0 + at_row pi (row2 1 b) 1 * full 1 b 1.
Proof.
  intros N. unfold qr, q. rewrite visits_full, !behind_row1.
  pose proof (q_second full (list cell) hold [Push] push row0 wdec hold_dec pi (row1 1) 1 b Push) as Q.
  transitivity (qn (P := E) pi 3 ([1%nat], row1 1, tt) (b, Push)); [field; auto|].
  etransitivity; [exact Q|]. unfold over, at_row, row0, row1, row2. simpl. ring.
Qed.
Lemma value_full pi : value_n (P := E) pi 3 =
  at_row pi row0 0 * qr pi row0 0 + at_row pi row0 1 * qr pi row0 1.
Proof.
  etransitivity; [apply (value_three full (list cell) hold [Push] push row0 wdec hold_dec pi)|].
  rewrite !q_row0. unfold over, at_row, row0, row1, row2. simpl. ring.
Qed.

(* 0 first, and after a first 1, where it never comes, 1 again *)
Definition settled pi : Prop := is_policy pi /\ at_row pi row0 0 = 1 /\ at_row pi row0 1 = 0 /\
  at_row pi (row1 1) 0 = 0 /\ at_row pi (row1 1) 1 = 1.
Lemma full_numbers : (forall b c, In b [0%nat; 1%nat] -> In c [0%nat; 1%nat] -> full 0 b c = 8) /\
  full 1 0 0 = 0 /\ full 1 0 1 = 10 /\ full 1 1 0 = 6 /\ full 1 1 1 = 6.
Proof.
  Local Transparent full. unfold full, cube. simpl. repeat split.
  intros b c [<-|[<-|[]]] [<-|[<-|[]]]; reflexivity.
Qed.
Local Opaque full.
Lemma q_zero pi : is_policy pi -> qr pi row0 0 = 8.
Proof.
  intros H. rewrite q_row0. destruct full_numbers as (F & _). rewrite !F by (simpl; auto).
  assert (X : forall A B x0 x1 y0 y1, A + B = 1 -> x0 + x1 = 1 -> y0 + y1 = 1 ->
    A * (x0 * 8 + x1 * 8) + B * (y0 * 8 + y1 * 8) = 8).
  { intros A B x0 x1 y0 y1 HA Hx Hy. replace x1 with (1 - x0) by lra. replace y1 with (1 - y0) by lra.
    replace B with (1 - A) by lra. ring. }
  apply X; apply two_full; auto.
Qed.
(* a full step is greedy where it comes *)
Lemma full_step pi pi' m g : is_step 3 1 pi pi' -> 0 < visits (P := E) 3 pi (m, tt) -> In g [0%nat; 1%nat] ->
  (forall a, In a [0%nat; 1%nat] -> a <> g -> qr pi m a < qr pi m g) ->
  forall a, at_row pi' m a = if Nat.eq_dec a g then 1 else 0.
Proof.
  intros St V Hg G a. destruct (St (m, tt)) as [[X _]|(_ & [b w] & [B1 B2] & K)]; [lra|].
  apply (in_prod_iff [0%nat; 1%nat] [Push]) in B1 as [B1 [<-|[]]].
  assert (b = g) as ->.
  { destruct (Nat.eq_dec b g) as [|N]; auto. specialize (G b B1 N). specialize (B2 (g, Push)).
    assert (I : In (g, Push) (acts E)) by (apply (in_prod [0%nat; 1%nat] [Push]); simpl; auto).
    exfalso. apply (Rlt_not_le _ _ G). exact (B2 I). }
  unfold at_row. rewrite K.
  destruct (Nat.eq_dec a g) as [Y|Y]; match goal with |- context [if ?d then _ else _] => destruct d as [X|X] end;
    try lra; exfalso; [apply X; rewrite Y; reflexivity|apply Y; exact (f_equal fst X)].
Qed.
Lemma full_pomdp : is_pomdp E.
Proof.
  apply augment_is_pomdp; [apply three_is_pomdp|].
  apply det_is_memory; [repeat constructor; simpl; tauto|discriminate].
Qed.
Lemma full_settles pi' : is_step 3 1 (uniform E) pi' -> settled pi'.
Proof.
  intros St. assert (U : forall m a, at_row (uniform E) m a = / 2) by (intros; unfold at_row, uniform; simpl; f_equal; ring).
  assert (H : is_policy (uniform E)) by apply is_policy_uniform, full_pomdp.
  destruct full_numbers as (F0 & F1 & F2 & F3 & F4).
  assert (A0 : forall a, at_row pi' row0 a = if Nat.eq_dec a 0 then 1 else 0).
  { apply (full_step (uniform E)); [auto|rewrite visits_full, behind_row0; lra|simpl; auto|].
    intros a [<-|[<-|[]]] N; [contradiction|]. rewrite (q_zero _ H), q_row0, !U, F1, F2, F3, F4. lra. }
  assert (A1 : forall a, at_row pi' (row1 1) a = if Nat.eq_dec a 1 then 1 else 0).
  { apply (full_step (uniform E)); [auto|rewrite visits_full, behind_row1, U; lra|simpl; auto|].
    intros a [<-|[<-|[]]] N; [|contradiction]. rewrite !q_row1 by (rewrite U; lra). rewrite !U, F1, F2, F3, F4. lra. }
  split; [apply (step_is_policy 3 1 (uniform E)); auto; [apply full_pomdp|lra]|].
  rewrite !A0, !A1. simpl. auto.
Qed.
Lemma full_stays pi pi' : settled pi -> is_step 3 1 pi pi' -> settled pi'.
Proof.
  intros (H & X0 & X1 & Y0 & Y1) St. destruct full_numbers as (F0 & F1 & F2 & F3 & F4).
  assert (A0 : forall a, at_row pi' row0 a = if Nat.eq_dec a 0 then 1 else 0).
  { apply (full_step pi); [auto|rewrite visits_full, behind_row0; lra|simpl; auto|].
    intros a [<-|[<-|[]]] N; [contradiction|]. rewrite (q_zero _ H), q_row0, Y0, Y1, F3, F4.
    pose proof (two_full pi (row2 1 1) H). lra. }
  assert (A1 : forall a, at_row pi' (row1 1) a = at_row pi (row1 1) a).
  { intros a. destruct (St (row1 1, tt)) as [[_ K]|[V _]]; [apply K|].
    rewrite visits_full, behind_row1, X1 in V. lra. }
  split; [apply (step_is_policy 3 1 pi); auto; [apply full_pomdp|lra]|].
  rewrite !A0, !A1. simpl. auto.
Qed.
Lemma settled_value pi : settled pi -> value_n (P := E) pi 3 = 8.
Proof. intros (H & X0 & X1 & _). rewrite value_full, X0, X1, (q_zero _ H). ring. Qed.
End Full.
Theorem full_steps_are_stuck (run : nat -> policy (augment (three full) (window (three full) 2))) :
  is_run 3 1 (uniform _) run ->
  (forall i, value_n (run (S i)) 3 = 8) /\ is_best_history (three full) 3 10.
Proof.
  intros [R0 RS]. split.
  - intros i. apply settled_value. induction i as [|i IH].
    + apply full_settles. rewrite <- R0. apply RS.
    + apply (full_stays (run (S i))); auto.
  - destruct full_numbers as (F0 & F1 & F2 & F3 & F4).
    apply (three_best full 10 1 0 1); simpl; auto.
    intros a b c [<-|[<-|[]]] Hb Hc; [rewrite F0 by auto; lra|].
    destruct Hb as [<-|[<-|[]]], Hc as [<-|[<-|[]]]; lra.
Qed.

(** * Fewer cells *)

(* With one cell no policy at all is worth more than 1 on [[[0, 0], [0, 0]], [[0, 0], [2, 1]]], so the loop
   is stuck whatever its steps and its rule for ties; the best is 2. *)
Definition corner := cube [[[0; 0]; [0; 0]]; [[0; 0]; [2; 1]]].
Theorem one_cell_is_stuck (pi : policy (augment (three corner) (window (three corner) 1))) :
  is_policy pi -> value_n pi 3 <= 1 /\ is_best_history (three corner) 3 2.
Proof.
  intros H. split.
  - set (push := fun (m : list (option (unit * nat))) (_ : hold) (o : unit) (a : nat) => tl (m ++ [Some (o, a)])).
    set (wdec := list_eq_dec (option_dec (pair_dec (obs_dec (three corner)) (act_dec (three corner))))).
    set (x := fun (m : list (option (unit * nat))) (a : nat) => pi (m, tt) (a, Push)).
    assert (V : value_n pi 3 = x [None] 1%nat * (x [Some (tt, 1%nat)] 1%nat *
      (x [Some (tt, 1%nat)] 0%nat * 2 + x [Some (tt, 1%nat)] 1%nat))).
    { etransitivity; [apply (value_three corner _ hold [Push] push [None] wdec hold_dec pi)|].
      unfold over, corner, cube, x, push. simpl. ring. }
    assert (S2 : forall m, 0 <= x m 0%nat /\ 0 <= x m 1%nat /\ x m 0%nat + x m 1%nat = 1).
    { intros m. destruct (H (m, tt)) as [H1 H2]. repeat split.
      - apply H1. apply (in_prod [0%nat; 1%nat] [Push]); simpl; auto.
      - apply H1. apply (in_prod [0%nat; 1%nat] [Push]); simpl; auto.
      - rewrite <- (over_row corner _ hold [Push] push [None] wdec hold_dec pi m H). unfold over, x, push. simpl. ring. }
    rewrite V. destruct (S2 [None]) as (A0 & A1 & A). destruct (S2 [Some (tt, 1%nat)]) as (B0 & B1 & B).
    set (y := x [Some (tt, 1%nat)] 1%nat) in *. replace (x [Some (tt, 1%nat)] 0%nat) with (1 - y) by lra.
    assert (Y : y * ((1 - y) * 2 + y) <= 1).
    { replace (y * ((1 - y) * 2 + y)) with (1 - (1 - y) ^ 2) by ring. pose proof (pow2_ge_0 (1 - y)). lra. }
    assert (0 <= y * ((1 - y) * 2 + y)) by (apply Rmult_le_pos; lra).
    replace 1 with (1 * 1) by ring. apply Rmult_le_compat; lra.
  - apply (three_best corner 2 1 1 0); simpl; auto.
    intros a b c [<-|[<-|[]]] [<-|[<-|[]]] [<-|[<-|[]]]; unfold corner, cube; simpl; lra.
Qed.

(** * Observations alone *)

(* K(k): the last k observations, always pushed *)
Definition K (P : pomdp) (k : nat) : memory P :=
  det (list (option (obs P))) hold [Push] (fun m _ o _ => tl (m ++ [Some o]))
    (repeat None k) (list_eq_dec (option_dec (obs_dec P))) hold_dec.
(* On [[[4, 2], [2, 0]], [[2, 0], [0, 5]]] K(2), which tells the three steps apart, tends to 0, 0, 0 and is
   never worth more than 4, whatever the step in (0, 1) and the rule for ties; 1, 1, 1 is worth 5. *)
Definition hills := cube [[[4; 2]; [2; 0]]; [[2; 0]; [0; 5]]].
Section Hills.
Notation P := (three hills).
Notation E := (augment P (K P 2)).
Notation cell := (option unit).
Notation push := (fun (m : list cell) (_ : hold) (o : unit) (_ : nat) => tl (m ++ [Some o])).
Notation wdec := (list_eq_dec (option_dec (obs_dec P))).
Implicit Types (pi : policy E).
Definition time0 : list cell := [None; None].
Definition time1 : list cell := [None; Some tt].
Definition time2 : list cell := [Some tt; Some tt].
Definition is_time (m : list cell) : Prop := m = time0 \/ m = time1 \/ m = time2.
Definition does_at pi (m : list cell) (a : nat) : R := pi (m, tt) (a, Push).
Definition q_at pi (m : list cell) (a : nat) : R := q (P := E) 3 pi (m, tt) (a, Push).
Definition seen_at pi (m : list cell) (f : state E -> R) : R := behind_n (P := E) 1 pi 3 (m, tt) f.
(* 1 with probability y at each step *)
Definition alike pi (y : R) : Prop :=
  forall m, is_time m -> does_at pi m 0 = 1 - y /\ does_at pi m 1 = y.
Lemma visits_hills pi (m : list cell) : visits (P := E) 3 pi (m, tt) = seen_at pi m (fun _ => 1).
Proof. apply (visits_three hills (list cell) hold [Push] push time0 wdec hold_dec pi m). Qed.
Lemma behind_hills pi f : seen_at pi time0 f = f ([], time0, tt) /\
  seen_at pi time1 f =
    does_at pi time0 0 * f ([0%nat], time1, tt) + does_at pi time0 1 * f ([1%nat], time1, tt) /\
  seen_at pi time2 f =
    does_at pi time0 0 * (does_at pi time1 0 * f ([0; 0]%nat, time2, tt) + does_at pi time1 1 * f ([1; 0]%nat, time2, tt)) +
    does_at pi time0 1 * (does_at pi time1 0 * f ([0; 1]%nat, time2, tt) + does_at pi time1 1 * f ([1; 1]%nat, time2, tt)).
Proof.
  repeat split; (etransitivity; [apply (behind_three hills (list cell) hold [Push] push time0 wdec hold_dec pi)|]);
    unfold over, here, does_at, time0, time1, time2; simpl; ring.
Qed.
Lemma hills_numbers : hills 0 0 0 = 4 /\ hills 0 0 1 = 2 /\ hills 0 1 0 = 2 /\ hills 0 1 1 = 0 /\
  hills 1 0 0 = 2 /\ hills 1 0 1 = 0 /\ hills 1 1 0 = 0 /\ hills 1 1 1 = 5.
Proof. unfold hills, cube. simpl. auto 10. Qed.
Local Opaque hills.
(* 0 is better at every step while y <= 1/2 *)
Lemma q_hills pi y m : alike pi y -> is_time m -> visits (P := E) 3 pi (m, tt) = 1 /\
  q_at pi m 0 = (1 - y) ^ 2 * 4 + 2 * y * (1 - y) * 2 /\ q_at pi m 1 = (1 - y) ^ 2 * 2 + y ^ 2 * 5.
Proof.
  intros A. destruct hills_numbers as (h0 & h1 & h2 & h3 & h4 & h5 & h6 & h7).
  destruct (A time0) as [A0 A1]; [unfold is_time; auto|]. destruct (A time1) as [B0 B1]; [unfold is_time; auto|].
  destruct (A time2) as [C0 C1]; [unfold is_time; auto|].
  assert (Q1 : forall a, qn (P := E) pi 3 ([], time0, tt) (a, Push) =
    does_at pi time1 0 * (does_at pi time2 0 * hills a 0 0 + does_at pi time2 1 * hills a 0 1) +
    does_at pi time1 1 * (does_at pi time2 0 * hills a 1 0 + does_at pi time2 1 * hills a 1 1)).
  { intros a. etransitivity; [apply (q_first hills (list cell) hold [Push] push time0 wdec hold_dec pi time0 a Push)|].
    unfold over, does_at, time0, time1, time2. simpl. ring. }
  assert (Q2 : forall a b, qn (P := E) pi 3 ([a], time1, tt) (b, Push) =
    does_at pi time2 0 * hills a b 0 + does_at pi time2 1 * hills a b 1).
  { intros a b. etransitivity; [apply (q_second hills (list cell) hold [Push] push time0 wdec hold_dec pi time1 a b Push)|].
    unfold over, does_at, time0, time1, time2. simpl. ring. }
  assert (Q3 : forall a b c, qn (P := E) pi 3 ([b; a], time2, tt) (c, Push) = hills a b c).
  { intros a b c. apply (q_third hills (list cell) hold [Push] push time0 wdec hold_dec pi time2 a b c Push). }
  intros Hm. assert (V : visits (P := E) 3 pi (m, tt) = 1).
  { rewrite visits_hills. destruct (behind_hills pi (fun _ => 1)) as (X & Y & Z).
    destruct Hm as [->|[->| ->]]; [rewrite X|rewrite Y, A0, A1|rewrite Z, A0, A1, B0, B1]; ring. }
  split; auto.
  assert (Qm : forall a, q_at pi m a = seen_at pi m (fun s => qn (P := E) pi 3 s (a, Push))).
  { intros a. unfold q_at, q. rewrite V. unfold Rdiv. rewrite Rinv_1. apply Rmult_1_r. }
  rewrite !Qm.
  destruct (behind_hills pi (fun s => qn (P := E) pi 3 s (0%nat, Push))) as (X & Y & Z).
  destruct (behind_hills pi (fun s => qn (P := E) pi 3 s (1%nat, Push))) as (X' & Y' & Z').
  destruct Hm as [->|[->| ->]].
  - split; [rewrite X|rewrite X']; rewrite Q1, B0, B1, C0, C1, ?h0, ?h1, ?h2, ?h3, ?h4, ?h5, ?h6, ?h7; ring.
  - split; [rewrite Y|rewrite Y']; rewrite !Q2, A0, A1, C0, C1, ?h0, ?h1, ?h2, ?h3, ?h4, ?h5, ?h6, ?h7; ring.
  - split; [rewrite Z|rewrite Z']; rewrite !Q3, A0, A1, B0, B1, ?h0, ?h1, ?h2, ?h3, ?h4, ?h5, ?h6, ?h7; ring.
Qed.
Lemma hills_step eps pi pi' y : 0 <= y <= 1 / 2 -> alike pi y -> is_step 3 eps pi pi' -> alike pi' ((1 - eps) * y).
Proof.
  intros Y A St m Hm. destruct (A m Hm) as [D0 D1]. destruct (q_hills pi y m A Hm) as (V & Q0 & Q1).
  assert (L : q_at pi m 1 < q_at pi m 0).
  { rewrite Q0, Q1. assert (0 <= y * (1 / 2 - y)) by (apply Rmult_le_pos; lra).
    replace (y ^ 2) with (y * y) by ring. replace ((1 - y) ^ 2) with (1 - 2 * y + y * y) by ring. nra. }
  destruct (St (m, tt)) as [[X _]|(_ & [g w] & [G1 G2] & Kp)]; [lra|].
  apply (in_prod_iff [0%nat; 1%nat] [Push]) in G1 as [G1 [<-|[]]].
  assert (g = 0%nat) as ->.
  { destruct G1 as [<-|[<-|[]]]; auto. exfalso. apply (Rlt_not_le _ _ L). apply G2.
    apply (in_prod [0%nat; 1%nat] [Push]); simpl; auto. }
  unfold does_at in *. rewrite !Kp, D0, D1. simpl. split; ring.
Qed.
Lemma hills_value pi y : 0 <= y <= 1 / 2 -> alike pi y -> value_n (P := E) pi 3 <= 4.
Proof.
  intros Y A. destruct hills_numbers as (h0 & h1 & h2 & h3 & h4 & h5 & h6 & h7).
  destruct (A time0) as [A0 A1]; [unfold is_time; auto|]. destruct (A time1) as [B0 B1]; [unfold is_time; auto|].
  destruct (A time2) as [C0 C1]; [unfold is_time; auto|].
  assert (V : value_n (P := E) pi 3 = 4 * (1 - y) ^ 3 + 6 * y * (1 - y) ^ 2 + 5 * y ^ 3).
  { etransitivity; [apply (value_three hills (list cell) hold [Push] push time0 wdec hold_dec pi)|].
    unfold over. simpl. rewrite h0, h1, h2, h3, h4, h5, h6, h7. unfold does_at, time0, time1, time2 in *. simpl in *.
    rewrite A0, A1, B0, B1, C0, C1. ring. }
  rewrite V. assert (0 <= y * y * (1 / 2 - y)) by (repeat apply Rmult_le_pos; lra).
  assert (0 <= y * (1 / 2 - y)) by (apply Rmult_le_pos; lra).
  replace (4 * (1 - y) ^ 3 + 6 * y * (1 - y) ^ 2 + 5 * y ^ 3) with (4 - 6 * y + 7 * (y * y * y)) by ring.
  assert (y * y * y <= y * (1 / 4)).
  { rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|]. nra. }
  lra.
Qed.
End Hills.
Theorem observations_alone_are_stuck eps (run : nat -> policy (augment (three hills) (K (three hills) 2))) :
  0 < eps < 1 -> is_run 3 eps (uniform _) run ->
  (forall i, value_n (run i) 3 <= 4) /\
  (exists pi : policy (augment (three hills) (K (three hills) 2)), is_policy pi /\ value_n pi 3 = 5) /\
  is_best_history (three hills) 3 5.
Proof.
  intros He [R0 RS]. split; [|split].
  - assert (Y : forall i, 0 <= (1 - eps) ^ i * (1 / 2) <= 1 / 2).
    { intros i. pose proof (pow_range (1 - eps) i ltac:(lra)). lra. }
    intros i. apply (hills_value (run i) ((1 - eps) ^ i * (1 / 2))); auto. induction i as [|i IH].
    + rewrite R0. intros m _. unfold does_at, uniform. simpl. split; field.
    + replace ((1 - eps) ^ S i * (1 / 2)) with ((1 - eps) * ((1 - eps) ^ i * (1 / 2))) by (simpl; ring).
      apply (hills_step eps (run i)); auto.
  - exists (one_hot (P := augment (three hills) (K (three hills) 2)) (fun _ => (1%nat, Push))). split.
    + apply is_policy_one_hot.
      * apply (acts_once _ (augment_is_pomdp (three hills) (K (three hills) 2) (three_is_pomdp hills)
          (det_is_memory _ _ [Push] _ _ _ _ ltac:(repeat constructor; simpl; tauto) ltac:(discriminate)))).
      * intros y. apply (in_prod [0%nat; 1%nat] [Push]); simpl; auto.
    + etransitivity; [apply value_three|]. unfold over, one_hot, hills, cube. simpl. ring.
  - apply (three_best hills 5 1 1 1); simpl; auto.
    intros a b c [<-|[<-|[]]] [<-|[<-|[]]] [<-|[<-|[]]]; unfold hills, cube; simpl; lra.
Qed.
