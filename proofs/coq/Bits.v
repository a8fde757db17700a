(* T.bits: on two steps with rewards [[a, b], [c, d]] the loop with B(k) is stuck at a < d, for every
   K = 2^k, table and step that satisfy the conditions. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Ties Words Segment Improvement.
Import ListNotations.
Open Scope R_scope.

Section Bits.
Variables (a b c d eps : R) (K : nat).
Hypothesis HK : (2 <= K)%nat.
Hypothesis H1 : a < d.
Hypothesis H2 : b + d <= 2 * a.
Hypothesis H3 : (INR K + 1) * (d - a) < (INR K - 1) * (b - c).
Definition F1 : R := ((INR K - 1) * (b - c) - (INR K + 1) * (d - a)) / (2 * INR K).
Definition D_ : R := b + d - a - c.
Hypothesis He : 0 < eps < 1.
(* eps/(1-eps) (a-b) < min(F1, D/(2K)) *)
Hypothesis S1 : eps / (1 - eps) * (a - b) < F1.
Hypothesis S2 : eps / (1 - eps) * (a - b) < D_ / (2 * INR K).

Definition r2 (i j : nat) : R :=
  match i, j with 0%nat, 0%nat => a | 0%nat, _ => b | _, 0%nat => c | _, _ => d end.
Notation E := (task 2 r2 K).
Notation last := (K - 1)%nat.
Lemma two : (0 < 2)%nat. Proof. lia. Qed.
Lemma Kp : (0 < K)%nat. Proof. lia. Qed.
Lemma KR : 2 <= INR K.
Proof. replace 2 with (INR 2) by (simpl; ring). apply le_INR. auto. Qed.
Lemma signs : b < a /\ c < b /\ 0 < F1 /\ 0 < D_ /\ eps * (a - b) < (1 - eps) * F1 /\
  eps * (a - b) < (1 - eps) * (D_ / (2 * INR K)).
Proof.
  pose proof KR.
  assert (0 < (INR K + 1) * (d - a)) by (apply Rmult_lt_0_compat; lra).
  assert (B : c < b) by (apply Rnot_le_lt; intros X;
    assert ((INR K - 1) * (b - c) <= (INR K - 1) * 0) by (apply Rmult_le_compat_l; lra); lra).
  assert (F : 0 < F1) by (apply Rdiv_lt_0_compat; lra).
  assert (forall x, eps / (1 - eps) * (a - b) < x -> eps * (a - b) < (1 - eps) * x).
  { intros x Hx. replace (eps * (a - b)) with ((1 - eps) * (eps / (1 - eps) * (a - b))) by (field; lra).
    apply Rmult_lt_compat_l; lra. }
  unfold D_ in *. repeat split; auto; lra.
Qed.
Lemma sum2 f : sum (seq 0 2) f = f 0%nat + f 1%nat.
Proof. simpl. ring. Qed.

(* what the rows other than 0 play, and the two goals: first (0, last), then (0, 0) at memory 0 *)
Definition goal (w0 m : nat) : nat * nat := if Nat.eqb m 0 then (0%nat, w0) else (1%nat, last).
Notation hot_ w0 := (hot 2 r2 K (goal w0)).
Lemma goal_range w0 m : (w0 < K)%nat -> (fst (goal w0 m) < 2 /\ snd (goal w0 m) < K)%nat.
Proof. unfold goal. destruct (Nat.eqb m 0); simpl; lia. Qed.
Lemma hot_pr w0 m i w : pr (n := 2) (r := r2) (K := K) (hot_ w0) m i w =
  if Nat.eq_dec i (fst (goal w0 m)) then if Nat.eq_dec w (snd (goal w0 m)) then 1 else 0 else 0.
Proof.
  unfold pr, hot, one_hot.
  match goal with |- (if ?x then _ else _) = _ => destruct x as [X|X] end.
  - destruct (Nat.eq_dec i (fst (goal w0 m))) as [_|N]; [|exfalso; apply N; exact (f_equal fst X)].
    destruct (Nat.eq_dec w (snd (goal w0 m))) as [_|N]; [reflexivity|exfalso; apply N; exact (f_equal snd X)].
  - destruct (Nat.eq_dec i (fst (goal w0 m))) as [->|]; [|reflexivity].
    destruct (Nat.eq_dec w (snd (goal w0 m))) as [->|]; [|reflexivity].
    exfalso. apply X. cbn [fst]. destruct (goal w0 m). reflexivity.
Qed.
Lemma hot_pa w0 m i : (w0 < K)%nat -> pa (n := 2) (r := r2) (K := K) (hot_ w0) m i =
  if Nat.eq_dec i (fst (goal w0 m)) then 1 else 0.
Proof.
  intros Hw. unfold pa. rewrite (sum_ext _ _ (fun w => if Nat.eq_dec w (snd (goal w0 m)) then
     (if Nat.eq_dec i (fst (goal w0 m)) then 1 else 0) else 0)).
  - apply (sum_if Nat.eq_dec (seq 0 K) (snd (goal w0 m)) (fun _ => if Nat.eq_dec i (fst (goal w0 m)) then 1 else 0));
      [apply seq_NoDup|apply in_seq]. pose proof (goal_range w0 m Hw). lia.
  - intros w. rewrite hot_pr. destruct (Nat.eq_dec i _), (Nat.eq_dec w _); auto.
Qed.
Lemma hot_num w0 m x : (w0 < K)%nat -> num (n := 2) (r := r2) (K := K) (hot_ w0) m x =
  i0 m * r2 (fst x) (if Nat.eqb (snd x) 0 then 0 else 1)%nat
  + (if Nat.eq_dec m w0 then 1 else 0) * r2 0 (fst x).
Proof.
  intros Hw. unfold num. rewrite !sum2, !hot_pa, !hot_pr by auto. unfold goal. simpl Nat.eqb. cbv iota.
  cbn [fst snd]. destruct (Nat.eqb (snd x) 0); simpl; destruct (Nat.eq_dec m w0); ring.
Qed.
Lemma hot_seen w0 m : seen (n := 2) (r := r2) (K := K) (hot_ w0) m = i0 m + (if Nat.eq_dec m w0 then 1 else 0).
Proof.
  unfold seen. rewrite sum2, !hot_pr. unfold goal. simpl Nat.eqb. cbv iota. cbn [fst snd]. simpl.
  destruct (Nat.eq_dec m w0); ring.
Qed.
Definition u : R := / INR (length (acts E)).
Lemma u_is : u = / (2 * INR K).
Proof.
  unfold u. f_equal. transitivity (INR (length (list_prod (seq 0 2) (seq 0 K)))); [reflexivity|].
  rewrite prod_length, !seq_length, mult_INR. simpl. ring.
Qed.
Lemma u_pos : 0 < u.
Proof. rewrite u_is. pose proof KR. apply Rinv_0_lt_compat. lra. Qed.
Lemma uni_pa m i : pa (n := 2) (r := r2) (K := K) (uniform E) m i = 1 / 2.
Proof.
  unfold pa, pr, uniform. rewrite sum_const, seq_length. fold u. rewrite u_is. pose proof KR. field. lra.
Qed.
Lemma uni_num m x : num (n := 2) (r := r2) (K := K) (uniform E) m x =
  i0 m * ((r2 (fst x) 0 + r2 (fst x) 1) / 2) + u * (r2 0 (fst x) + r2 1 (fst x)).
Proof. unfold num. rewrite !sum2, !uni_pa. unfold pr, uniform. fold u. field. Qed.
Lemma uni_seen m : seen (n := 2) (r := r2) (K := K) (uniform E) m = i0 m + 2 * u.
Proof. unfold seen, pr, uniform. rewrite sum2. fold u. ring. Qed.
(* under the uniform policy 0 leads by F1 at memory 0, and 1 by D/(2K) elsewhere *)
Lemma lead_0 : (a + b) / 2 + u * (a + c) = (c + d) / 2 + u * (b + d) + F1.
Proof. unfold F1. rewrite u_is. pose proof KR. field. lra. Qed.
Lemma lead_m : u * (b + d) = u * (a + c) + D_ / (2 * INR K).
Proof. unfold D_. rewrite u_is. pose proof KR. field. lra. Qed.

Lemma higher i w w' : (w' < w)%nat -> preferred (i, w) (i, w').
Proof. left. simpl. lia. Qed.
Lemma first_step : greedy_is 2 r2 K (goal last) (uniform E).
Proof.
  pose proof u_pos as U. pose proof lead_0 as L0. pose proof lead_m as Lm. destruct signs as (Sa & Sb & Sf & Sd & _).
  pose proof KR as KR'. assert (0 < D_ / (2 * INR K)) by (apply Rdiv_lt_0_compat; lra).
  intros m Hm. split; [|intros N; exfalso; apply N; rewrite uni_seen; pose proof (i0_range m); lra].
  intros _. split; [apply goal_range; lia|].
  intros [i w] [Hi Hw] Ne. rewrite !uni_num. cbn [fst snd] in *. unfold i0, goal in *.
  destruct (Nat.eq_dec 0 m) as [<-|Hm0].
  - simpl Nat.eqb in *. cbv iota in *. cbn [fst snd]. destruct i as [|[|i]]; [| |lia].
    + right. split; [lra|]. apply higher. assert (w <> last) by congruence. lia.
    + left. cbn [r2]. lra.
  - destruct (Nat.eqb_spec m 0) as [|_]; [lia|]. cbn [fst snd]. destruct i as [|[|i]]; [| |lia].
    + left. cbn [r2]. lra.
    + right. split; [lra|]. apply higher. assert (w <> last) by congruence. lia.
Qed.
Definition pi1 : policy E := mix eps (uniform E) (hot_ last).
Lemma uniform_nonneg : nonneg 2 r2 K (uniform E).
Proof. intros m i w _ _ _. unfold pr, uniform. fold u. pose proof u_pos. lra. Qed.
Lemma pi1_nonneg : nonneg 2 r2 K pi1.
Proof.
  intros m i w Hm Hi Hw. pose proof (uniform_nonneg m i w Hm Hi Hw).
  pose proof (hot_nonneg 2 r2 K (goal last) m i w Hm Hi Hw). unfold pr, pi1, mix in *.
  apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra.
Qed.
Lemma pi1_seen m : (m < K)%nat -> 0 < seen (n := 2) (r := r2) (K := K) pi1 m.
Proof.
  intros Hm. unfold pi1. rewrite seen_mix, uni_seen, hot_seen. pose proof u_pos. pose proof (i0_range m).
  apply Rplus_lt_le_0_compat; [apply Rmult_lt_0_compat; lra|].
  apply Rmult_le_pos; [lra|]. destruct (Nat.eq_dec m last); lra.
Qed.
Lemma second_goal : greedy_is 2 r2 K (goal 0) pi1.
Proof.
  pose proof u_pos as U. pose proof lead_0 as L0. pose proof lead_m as Lm.
  destruct signs as (Sa & Sb & Sf & Sd & T1 & T2). pose proof KR as KR'.
  assert (0 < D_ / (2 * INR K)) by (apply Rdiv_lt_0_compat; lra).
  intros m Hm. split; [|intros N; exfalso; apply N; apply pi1_seen; auto].
  intros _. split; [apply goal_range; lia|].
  intros [i w] [Hi Hw] Ne. unfold pi1. rewrite !num_mix, !uni_num, !hot_num by lia. cbn [fst snd] in *.
  unfold i0, goal in *.
  destruct (Nat.eq_dec 0 m) as [<-|Hm0].
  - simpl Nat.eqb in *. cbv iota in *. cbn [fst snd]. destruct (Nat.eq_dec 0 last); [lia|]. simpl Nat.eqb. cbv iota.
    set (p0 := (a + b) / 2 + u * (a + c)) in *. set (p1 := (c + d) / 2 + u * (b + d)) in *.
    assert (Q : (1 - eps) * p0 = (1 - eps) * p1 + (1 - eps) * F1) by (rewrite L0; ring).
    assert (X1 : eps * (d - a) <= eps * (a - b)) by (apply Rmult_le_compat_l; lra).
    assert (X2 : eps * b < eps * a) by (apply Rmult_lt_compat_l; lra).
    assert (X3 : eps * c < eps * a) by (apply Rmult_lt_compat_l; lra).
    assert (X4 : 0 < (1 - eps) * F1) by (apply Rmult_lt_0_compat; lra).
    left. destruct i as [|[|i]]; [| |lia]; destruct (Nat.eqb_spec w 0) as [->|Nw]; cbn [r2];
      try (exfalso; apply Ne; reflexivity); unfold p0, p1 in *; lra.
  - destruct (Nat.eqb_spec m 0) as [|_]; [lia|]. cbn [fst snd]. destruct (Nat.eqb_spec last 0); [lia|].
    destruct i as [|[|i]]; [| |lia].
    + left. cbn [r2]. rewrite !Rmult_0_l, !Rplus_0_l.
      assert (Q : (1 - eps) * (u * (b + d)) = (1 - eps) * (u * (a + c)) + (1 - eps) * (D_ / (2 * INR K)))
        by (rewrite Lm; ring).
      assert (X4 : 0 < (1 - eps) * (D_ / (2 * INR K))) by (apply Rmult_lt_0_compat; lra).
      destruct (Nat.eq_dec m last); lra.
    + right. split; [lra|]. apply higher. assert (w <> last) by congruence. lia.
Qed.
Lemma end_is_no_worse : weakly_greedy 2 r2 K (goal 0).
Proof.
  destruct signs as (Sa & Sb & _).
  intros m [i w] Hm V [Hi Hw]. rewrite !hot_num by lia. rewrite hot_seen in V. cbn [fst snd] in *.
  unfold i0, goal in *. destruct (Nat.eq_dec 0 m) as [<-|Hm0].
  - simpl. destruct i as [|[|i]]; [| |lia]; destruct (Nat.eqb w 0); cbn [r2]; lra.
  - destruct (Nat.eq_dec m 0); [lia|]. lra.
Qed.
Lemma loop_shift {P} T l e (pi : policy P) t : loop T l e pi (S t) = loop T l e (improve T l e pi) t.
Proof. induction t; [reflexivity|]. simpl in *. rewrite IHt. reflexivity. Qed.
Lemma first_iterate : agree 2 r2 K (improve (P := E) 2 (rule 2 r2 K) eps (uniform E)) pi1.
Proof.
  intros m x Hm.
  assert (V : 0 < seen (n := 2) (r := r2) (K := K) (uniform E) m)
    by (rewrite uni_seen; pose proof u_pos; pose proof (i0_range m); lra).
  unfold improve. pose proof (visits_words 2 r2 K two Kp (uniform E) m Hm) as Vw. rewrite <- Vw in V.
  destruct (Rlt_dec 0 (visits 2 (uniform E) (m, tt))) as [_|N]; [|contradiction].
  rewrite Vw in V. destruct (first_step m Hm) as [G _]. specialize (G V).
  apply (greedy_words 2 r2 K two Kp (uniform E) m (goal last m) Hm V) in G. rewrite G. reflexivity.
Qed.
Lemma way t : greedy_is 2 r2 K (goal 0)
  (mix (1 - left_of eps t) (improve (P := E) 2 (rule 2 r2 K) eps (uniform E)) (hot_ 0)).
Proof.
  assert (A : agree 2 r2 K (mix (1 - left_of eps t) pi1 (hot_ 0))
    (mix (1 - left_of eps t) (improve (P := E) 2 (rule 2 r2 K) eps (uniform E)) (hot_ 0))).
  { intros m x Hm. unfold mix at 1 2. rewrite (first_iterate m x Hm). reflexivity. }
  assert (L : 0 < left_of eps t) by (apply pow_lt; lra).
  pose proof (left_range eps t ltac:(lra)).
  pose proof (step_keeps_weakly 2 r2 K two Kp (goal 0) (1 - left_of eps t) pi1 ltac:(lra) pi1_nonneg
    pi1_seen second_goal end_is_no_worse) as G.
  intros m Hm. destruct (G m Hm) as [G1 G2]. rewrite <- (seen_agree 2 r2 K Kp _ _ m A). split.
  - intros V. eapply greedy_in_agree; [apply two|apply Kp|exact A|auto].
  - intros V x. rewrite <- (A m x Hm). auto.
Qed.
Lemma hot_value : value_n (P := E) (hot_ 0) 2 = a.
Proof.
  etransitivity; [apply (value_words 2 r2 K (hot_ 0))|].
  assert (X : forall i, sum (seq 0 K) (fun w => pr (n := 2) (r := r2) (K := K) (hot_ 0) 0 i w *
      sum (seq 0 2) (fun j => pa (n := 2) (r := r2) (K := K) (hot_ 0) w j * r2 i j)) = if Nat.eq_dec i 0 then a else 0).
  { intros i. destruct (Nat.eq_dec i 0) as [->|N].
    - rewrite (sum_ext _ _ (fun w => if Nat.eq_dec w 0 then a else 0)).
      + apply (sum_if Nat.eq_dec (seq 0 K) 0%nat (fun _ => a)); [apply seq_NoDup|apply in_seq; lia].
      + intros w. rewrite hot_pr, sum2, !hot_pa by lia. unfold goal. simpl Nat.eqb. cbv iota. cbn [fst snd].
        destruct (Nat.eq_dec 0 0); [|contradiction]. destruct (Nat.eq_dec w 0) as [->|]; [|ring]. simpl. ring.
    - apply sum_zero. intros w _. rewrite hot_pr. unfold goal. simpl Nat.eqb. cbv iota. cbn [fst snd].
      destruct (Nat.eq_dec i 0); [contradiction|ring]. }
  rewrite sum2, !X. simpl. ring.
Qed.

(* T.bits: the returns of the loop from uniform tend to a, which is less than d *)
Theorem bits_are_stuck :
  Un_cv (fun t => value_n (P := E) (loop (P := E) 2 (rule 2 r2 K) eps (uniform E) t) 2) a /\ a < d.
Proof.
  split; auto.
  pose proof (loop_value 2 r2 K two Kp (goal 0) (improve (P := E) 2 (rule 2 r2 K) eps (uniform E)) eps
    ltac:(lra) way ltac:(lra)) as C. rewrite hot_value in C.
  intros e Hp. destruct (C e Hp) as [N HN]. exists (S N). intros t Ht. destruct t as [|t]; [lia|].
  specialize (HN t ltac:(lia)). rewrite loop_shift. exact HN.
Qed.
End Bits.
