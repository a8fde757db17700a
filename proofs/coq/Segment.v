(* Lemma C.3 for any table of two steps and any number of words: if greedy on pi is a deterministic
   policy that is greedy on itself, it is greedy on the whole way to it, and the loop goes there. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Ties Words Improvement.
Import ListNotations.
Open Scope R_scope.

Section Segment.
Variables (n : nat) (r : nat -> nat -> R) (K : nat).
Hypothesis Hn : (0 < n)%nat.
Hypothesis HK : (0 < K)%nat.
Let E := task n r K.
Implicit Types (pi : policy E) (m a w : nat) (b : nat * nat).
Variable goal : nat -> nat * nat.
Hypothesis Hgoal : forall m, (m < K)%nat -> (fst (goal m) < n /\ snd (goal m) < K)%nat.

Definition hot : policy E := one_hot (P := E) (fun o => goal (fst o)).
Definition nonneg pi : Prop := forall m a w, (m < K)%nat -> (a < n)%nat -> (w < K)%nat -> 0 <= pr pi m a w.
(* greedy on pi is the goal: in the rows that are visited; the others stay, and are there already *)
Definition greedy_is pi : Prop := forall m, (m < K)%nat ->
  (0 < seen pi m -> greedy_in pi m (goal m)) /\
  (~ 0 < seen pi m -> forall b, pi (m, tt) b = hot (m, tt) b).
Definition agree pi pi' : Prop := forall m b, (m < K)%nat -> pi (m, tt) b = pi' (m, tt) b.

Lemma hot_nonneg : nonneg hot.
Proof. intros m a w _ _ _. unfold pr, hot, one_hot. destruct (act_dec E _ _); lra. Qed.
Lemma seen_nonneg pi m : nonneg pi -> (m < K)%nat -> i0 m <= seen pi m.
Proof.
  intros H Hm. unfold seen. cut (0 <= sum (seq 0 n) (fun i => pr pi 0 i m)); [lra|].
  apply sum_nonneg. intros i I. apply in_seq in I. apply H; lia.
Qed.
Lemma i0_range m : 0 <= i0 m <= 1.
Proof. unfold i0. destruct (Nat.eq_dec 0 m); lra. Qed.
Lemma unseen pi m b : nonneg pi -> (m < K)%nat -> seen pi m = 0 -> num pi m b = 0.
Proof.
  intros H Hm S. pose proof (i0_range m). pose proof (seen_nonneg pi m H Hm).
  assert (I : i0 m = 0) by lra. unfold num. rewrite I. unfold seen in S. rewrite I in S.
  rewrite sum_zero with (l := seq 0 n) (f := fun i => pr pi 0 i m * r i (fst b)); [ring|].
  intros i Hi. assert (pr pi 0 i m = 0) as ->; [|ring].
  assert (pr pi 0 i m <= sum (seq 0 n) (fun i => pr pi 0 i m)).
  { apply (sum_pos_term (seq 0 n) (fun i => pr pi 0 i m)); auto.
    intros j Hj. apply in_seq in Hj. apply H; lia. }
  assert (0 <= pr pi 0 i m) by (apply in_seq in Hi; apply H; lia). lra.
Qed.
Lemma seen_agree pi pi' m : agree pi pi' -> seen pi m = seen pi' m.
Proof. intros A. unfold seen. f_equal. apply sum_ext. intros i. apply A. auto. Qed.
Lemma num_agree pi pi' m b : agree pi pi' -> (snd b < K)%nat -> num pi m b = num pi' m b.
Proof.
  intros A Hb. unfold num. f_equal.
  - f_equal. apply sum_ext. intros i. f_equal. apply sum_ext. intros w. apply A. auto.
  - apply sum_ext. intros i. f_equal. apply A. auto.
Qed.
Lemma greedy_in_agree pi pi' m b : agree pi pi' -> greedy_in pi m b -> greedy_in pi' m b.
Proof.
  intros A [R G]. split; auto. intros b' R' N. rewrite <- !(num_agree pi pi') by (auto; lia). auto.
Qed.

(* Lemma C.3 *)
Theorem step_keeps eps pi : 0 <= eps <= 1 -> nonneg pi -> greedy_is pi -> greedy_is hot ->
  greedy_is (mix eps pi hot).
Proof.
  intros He N G H m Hm. destruct (G m Hm) as [G1 G2], (H m Hm) as [H1 _].
  pose proof (i0_range m). pose proof (seen_nonneg pi m N Hm). pose proof (seen_nonneg hot m hot_nonneg Hm).
  rewrite seen_mix. split.
  - intros V. split; auto. intros b' R' Ne. rewrite !num_mix.
    destruct (Rlt_dec 0 (seen pi m)) as [Sp|Sp], (Rlt_dec 0 (seen hot m)) as [Sh|Sh].
    + destruct (G1 Sp) as [_ Gp], (H1 Sh) as [_ Gh].
      destruct (Gp b' R' Ne) as [A|[A T]], (Gh b' R' Ne) as [B|[B T']].
      * left. destruct (Req_dec eps 1) as [->|]; [lra|].
        assert ((1 - eps) * num pi m b' < (1 - eps) * num pi m (goal m)) by (apply Rmult_lt_compat_l; lra).
        assert (eps * num hot m b' <= eps * num hot m (goal m)) by (apply Rmult_le_compat_l; lra). lra.
      * right. split; auto.
        assert ((1 - eps) * num pi m b' <= (1 - eps) * num pi m (goal m)) by (apply Rmult_le_compat_l; lra).
        assert (eps * num hot m b' <= eps * num hot m (goal m)) by (apply Rmult_le_compat_l; lra). lra.
      * right. split; auto.
        assert ((1 - eps) * num pi m b' <= (1 - eps) * num pi m (goal m)) by (apply Rmult_le_compat_l; lra).
        assert (eps * num hot m b' <= eps * num hot m (goal m)) by (apply Rmult_le_compat_l; lra). lra.
      * right. split; auto.
        assert ((1 - eps) * num pi m b' <= (1 - eps) * num pi m (goal m)) by (apply Rmult_le_compat_l; lra).
        assert (eps * num hot m b' <= eps * num hot m (goal m)) by (apply Rmult_le_compat_l; lra). lra.
    + rewrite !(unseen hot m) by (auto using hot_nonneg; lra).
      assert (seen hot m = 0) as Z by lra. rewrite Z in V.
      assert (eps <> 1) by (intros ->; lra).
      destruct (G1 Sp) as [_ Gp]. destruct (Gp b' R' Ne) as [A|[A T]]; [left|right; split; auto].
      * assert ((1 - eps) * num pi m b' < (1 - eps) * num pi m (goal m)) by (apply Rmult_lt_compat_l; lra). lra.
      * assert ((1 - eps) * num pi m b' <= (1 - eps) * num pi m (goal m)) by (apply Rmult_le_compat_l; lra). lra.
    + assert (seen pi m = 0) as Z by lra. rewrite Z in V.
      rewrite !(unseen pi m) by (auto; lra).
      assert (eps <> 0) by (intros ->; lra).
      destruct (H1 Sh) as [_ Gh]. destruct (Gh b' R' Ne) as [A|[A T]]; [left|right; split; auto].
      * assert (eps * num hot m b' < eps * num hot m (goal m)) by (apply Rmult_lt_compat_l; lra). lra.
      * assert (eps * num hot m b' <= eps * num hot m (goal m)) by (apply Rmult_le_compat_l; lra). lra.
    + exfalso. assert (seen pi m = 0) as Z by lra. assert (seen hot m = 0) as Z' by lra.
      rewrite Z, Z' in V. lra.
  - intros V b. unfold mix.
    destruct (Rlt_dec 0 (seen pi m)) as [Sp|Sp]; [|rewrite (G2 Sp); ring].
    destruct (Req_dec eps 1) as [->|Ne]; [ring|]. exfalso. apply V.
    apply Rplus_lt_le_0_compat; [apply Rmult_lt_0_compat; lra|apply Rmult_le_pos; lra].
Qed.

(* before the goal is reached it is enough that the goal is no worse than others there *)
Definition weakly_greedy : Prop := forall m b, (m < K)%nat -> 0 < seen hot m ->
  (fst b < n /\ snd b < K)%nat -> num hot m b <= num hot m (goal m).
Theorem step_keeps_weakly eps pi : 0 <= eps < 1 -> nonneg pi ->
  (forall m, (m < K)%nat -> 0 < seen pi m) -> greedy_is pi -> weakly_greedy -> greedy_is (mix eps pi hot).
Proof.
  intros He N S G H m Hm. destruct (G m Hm) as [G1 _]. destruct (G1 (S m Hm)) as [R G2].
  pose proof (seen_nonneg hot m hot_nonneg Hm). pose proof (i0_range m). pose proof (S m Hm).
  assert (V : 0 < seen (mix eps pi hot) m).
  { rewrite seen_mix. apply Rplus_lt_le_0_compat; [apply Rmult_lt_0_compat; lra|apply Rmult_le_pos; lra]. }
  split; [|contradiction]. intros _. split; auto. intros b' R' Ne. rewrite !num_mix.
  assert (W : eps * num hot m b' <= eps * num hot m (goal m)).
  { apply Rmult_le_compat_l; [lra|]. destruct (Rlt_dec 0 (seen hot m)) as [Sh|Sh]; [apply H; auto|].
    rewrite !(unseen hot m) by (auto using hot_nonneg; lra). lra. }
  destruct (G2 b' R' Ne) as [A|[A T]]; [left|right; split; auto].
  - assert ((1 - eps) * num pi m b' < (1 - eps) * num pi m (goal m)) by (apply Rmult_lt_compat_l; lra). lra.
  - assert ((1 - eps) * num pi m b' <= (1 - eps) * num pi m (goal m)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(* the loop: all iterates lie on the way from pi to the goal, for every step in [0, 1], if the goal
   is greedy on that way *)
Section Loop.
Variables (pi0 : policy E) (eps : R).
Hypothesis He : 0 <= eps <= 1.
Definition left_of (t : nat) : R := (1 - eps) ^ t.
Hypothesis HW : forall t, greedy_is (mix (1 - left_of t) pi0 hot).

Theorem loop_on_segment t :
  agree (loop (P := E) 2 (rule n r K) eps pi0 t) (mix (1 - left_of t) pi0 hot).
Proof.
  induction t as [|t IH]; intros m b Hm.
  - unfold left_of, mix. simpl. ring.
  - set (pi := loop (P := E) 2 (rule n r K) eps pi0 t) in *.
    change (loop (P := E) 2 (rule n r K) eps pi0 (S t)) with (improve 2 (rule n r K) eps pi).
    unfold improve. pose proof (visits_words n r K Hn HK pi m Hm) as Vw.
    destruct (HW t m Hm) as [G1 G2].
    rewrite <- (seen_agree _ _ m IH) in G1, G2.
    assert (Sx : 1 - left_of (S t) = (1 - eps) * (1 - left_of t) + eps) by (unfold left_of; simpl; ring).
    match goal with |- context [Rlt_dec 0 ?v] => destruct (Rlt_dec 0 v) as [V|V] end.
    + rewrite Vw in V.
      specialize (G1 V).
      assert (G : greedy_in pi m (goal m)).
      { apply (greedy_in_agree (mix (1 - left_of t) pi0 hot)); auto.
        intros m' b' Hm'. symmetry. apply IH. auto. }
      apply (greedy_words n r K Hn HK pi m (goal m) Hm V) in G.
      change (greedy 2 (rule n r K) pi (m, tt)) with (greedy (P := task n r K) 2 (rule n r K) pi (m, tt)).
      rewrite G, (IH m b Hm). unfold mix. rewrite Sx.
      match goal with |- context [eps * (if ?d then 1 else 0)] =>
        change (if d then 1 else 0) with (hot (m, tt) b) end. ring.
    + rewrite Vw in V.
      specialize (G2 V). rewrite (IH m b Hm). specialize (G2 b). rewrite G2. unfold mix in *.
      rewrite Sx. transitivity ((1 - eps) * hot (m, tt) b + eps * hot (m, tt) b); [ring|].
      rewrite <- G2 at 1. ring.
Qed.
Theorem loop_converges m b : 0 < eps -> (m < K)%nat ->
  Un_cv (fun t => loop (P := E) 2 (rule n r K) eps pi0 t (m, tt) b) (hot (m, tt) b).
Proof.
  intros Hp Hm.
  apply (cv_ext (fun t => hot (m, tt) b + (1 - eps) ^ t * (pi0 (m, tt) b - hot (m, tt) b))).
  - intros t. rewrite (loop_on_segment t m b Hm). unfold mix, left_of. ring.
  - rewrite <- (Rplus_0_r (hot (m, tt) b)) at 1.
    apply (CV_plus (fun _ => hot (m, tt) b)); [apply cv_const|].
    apply (cv_ext (fun t => (pi0 (m, tt) b - hot (m, tt) b) * (1 - eps) ^ t)); [intros; ring|].
    rewrite <- (Rmult_0_r (pi0 (m, tt) b - hot (m, tt) b)). apply cv_scal. apply cv_pow. lra.
Qed.
Theorem loop_value : 0 < eps ->
  Un_cv (fun t => value_n (P := E) (loop (P := E) 2 (rule n r K) eps pi0 t) 2) (value_n (P := E) hot 2).
Proof.
  intros Hp.
  apply (cv_ext (fun t => sum (seq 0 n) (fun a => sum (seq 0 K) (fun w =>
    pr (n := n) (r := r) (K := K) (loop (P := E) 2 (rule n r K) eps pi0 t) 0 a w *
    sum (seq 0 n) (fun i => pa (n := n) (r := r) (K := K) (loop (P := E) 2 (rule n r K) eps pi0 t) w i * r a i))))).
  { intros t. symmetry. apply value_words. }
  assert (V : value_n (P := E) hot 2 = _) by apply value_words. rewrite V.
  apply cv_sum. intros a _. apply cv_sum. intros w Hw. apply in_seq in Hw.
  apply CV_mult; [apply loop_converges; auto|].
  apply cv_sum. intros i _. apply (CV_mult _ (fun _ => r a i)); [|apply cv_const].
  apply cv_sum. intros w' _. apply loop_converges; auto. lia.
Qed.
End Loop.
Lemma left_range eps t : 0 <= eps <= 1 -> 0 <= 1 - left_of eps t <= 1.
Proof. intros He. pose proof (pow_range (1 - eps) t ltac:(lra)). unfold left_of. lra. Qed.
Lemma way_of_step pi0 eps : 0 <= eps <= 1 -> nonneg pi0 -> greedy_is pi0 -> greedy_is hot ->
  forall t, greedy_is (mix (1 - left_of eps t) pi0 hot).
Proof. intros He N G H t. apply step_keeps; auto. apply left_range; auto. Qed.
End Segment.
