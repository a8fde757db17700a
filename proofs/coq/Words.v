(* Tables of two steps with a memory of K words, B(k) for K = 2^k: Lemma C.1 for every K, and what
   greedy is. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Ties.
Import ListNotations.
Open Scope R_scope.

Section Words.
Variables (n : nat) (r : nat -> nat -> R) (K : nat).
Hypothesis Hn : (0 < n)%nat.
Hypothesis HK : (0 < K)%nat.
Definition task := augment (table n r) (words (table n r) K).
Implicit Types (pi : policy task) (m a w : nat) (b : nat * nat).

(* the paper's p^m_aw, and p^m_a summed over writes *)
Definition pr pi m a w : R := pi (m, tt) (a, w).
Definition pa pi m a : R := sum (seq 0 K) (fun w => pr pi m a w).
Definition i0 m : R := if Nat.eq_dec 0 m then 1 else 0.
(* visits of the row m, and visits times q-values *)
Definition seen pi m : R := i0 m + sum (seq 0 n) (fun i => pr pi 0 i m).
Definition num pi m b : R :=
  i0 m * sum (seq 0 n) (fun i => pa pi (snd b) i * r (fst b) i)
  + sum (seq 0 n) (fun i => pr pi 0 i m * r i (fst b)).

Lemma later_words pi a m :
  later n r nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec pi a m
  = sum (seq 0 n) (fun i => pa pi m i * r a i).
Proof.
  unfold later, choices. rewrite sum_list_prod. apply sum_ext. intros i. unfold pa, pr.
  rewrite <- sum_scal_r. apply sum_ext. intros w. reflexivity.
Qed.
Lemma sum_written (m : nat) (f : nat * nat -> R) : (m < K)%nat ->
  sum (list_prod (seq 0 n) (seq 0 K)) (fun c => if Nat.eq_dec (snd c) m then f c else 0)
  = sum (seq 0 n) (fun i => f (i, m)).
Proof.
  intros H. rewrite sum_list_prod. apply sum_ext. intros i. cbn [snd].
  apply (sum_if Nat.eq_dec (seq 0 K) m (fun w => f (i, w))); [apply seq_NoDup|apply in_seq; lia].
Qed.
Lemma visits_words pi m : (m < K)%nat -> visits 2 pi (m, tt) = seen pi m.
Proof.
  intros H.
  etransitivity; [apply (visits_table n r nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec pi m)|].
  unfold seen. f_equal. unfold came, choices, is, to.
  etransitivity; [|apply (sum_written m (fun c => pi (0%nat, tt) c) H)]. apply sum_ext. intros c.
  destruct (Nat.eq_dec (snd c) m); ring.
Qed.
(* rows that are no words are never visited *)
Lemma visits_other pi m : (K <= m)%nat -> visits 2 pi (m, tt) = 0.
Proof.
  intros H.
  etransitivity; [apply (visits_table n r nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec pi m)|].
  unfold came, choices, is, to. destruct (Nat.eq_dec 0 m); [lia|].
  rewrite sum_zero; [ring|]. intros [i w] I. apply in_prod_iff in I as [_ I]. apply in_seq in I.
  cbn [snd]. destruct (Nat.eq_dec w m); [lia|ring].
Qed.
(* Lemma C.1: the q-values, for any number of words, actions, any rewards and any policy *)
Theorem q_words pi m b : (m < K)%nat -> q 2 pi (m, tt) b = num pi m b / seen pi m.
Proof.
  intros H.
  etransitivity; [apply (q_table n r nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec pi m)|].
  rewrite <- (visits_words pi m H).
  rewrite <- (visits_table n r nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec pi m).
  unfold num. f_equal. unfold earned, choices. rewrite later_words. f_equal.
  etransitivity; [|apply (sum_written m (fun c => pi (0%nat, tt) c * r (fst c) (fst b)) H)].
  apply sum_ext. intros c. unfold is, to. destruct (Nat.eq_dec (snd c) m); ring.
Qed.
Lemma value_words pi : value_n pi 2 =
  sum (seq 0 n) (fun a => sum (seq 0 K) (fun w =>
    pr pi 0 a w * sum (seq 0 n) (fun i => pa pi w i * r a i))).
Proof.
  etransitivity; [apply (value_table n r nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec pi 0)|].
  unfold choices. rewrite sum_list_prod. apply sum_ext. intros a. apply sum_ext. intros w.
  rewrite later_words. reflexivity.
Qed.
Lemma is_value_words pi : is_value pi (value_n pi 2).
Proof.
  pose proof (value_of_table n r nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec pi) as V.
  rewrite <- (value_table n r nat nat (seq 0 K) (fun _ w _ _ => w) 0%nat Nat.eq_dec Nat.eq_dec pi 0) in V.
  exact V.
Qed.

(* all of it is linear in the policy *)
Lemma pa_mix eps pi g m a : pa (mix eps pi g) m a = (1 - eps) * pa pi m a + eps * pa g m a.
Proof. unfold pa, pr, mix. rewrite sum_plus, !sum_scal. reflexivity. Qed.
Lemma seen_mix eps pi g m : seen (mix eps pi g) m = (1 - eps) * seen pi m + eps * seen g m.
Proof. unfold seen, pr, mix. rewrite sum_plus, !sum_scal. ring. Qed.
Lemma num_mix eps pi g m b : num (mix eps pi g) m b = (1 - eps) * num pi m b + eps * num g m b.
Proof.
  unfold num.
  rewrite (sum_ext _ (fun i => pa (mix eps pi g) (snd b) i * r (fst b) i)
    (fun i => (1 - eps) * (pa pi (snd b) i * r (fst b) i) + eps * (pa g (snd b) i * r (fst b) i)))
    by (intros; rewrite pa_mix; ring).
  rewrite (sum_ext _ (fun i => pr (mix eps pi g) 0 i m * r i (fst b))
    (fun i => (1 - eps) * (pr pi 0 i m * r i (fst b)) + eps * (pr g 0 i m * r i (fst b))))
    by (intros; unfold pr, mix; ring).
  rewrite !sum_plus, !sum_scal. ring.
Qed.

(* (a, w) is greedy in the row m: the best, and among equals the higher write, then the lower action *)
Definition greedy_in pi m b : Prop :=
  (fst b < n /\ snd b < K)%nat /\ forall b', (fst b' < n /\ snd b' < K)%nat -> b' <> b ->
    num pi m b' < num pi m b \/ (num pi m b' <= num pi m b /\ preferred b b').
Definition rule : order task := by_write n K.
Lemma greedy_words pi m b : (m < K)%nat -> 0 < seen pi m ->
  (greedy 2 rule pi (m, tt) = b <-> greedy_in pi m b).
Proof.
  intros Hm V. unfold greedy, rule.
  assert (S : Sorted.StronglySorted preferred (fst (by_write n K) :: snd (by_write n K)))
    by (rewrite by_write_list by auto; apply sorted_higher_writes).
  rewrite (argmax_wins (P := task) preferred preferred_asym _ _ _ b S).
  unfold wins. rewrite by_write_list by auto.
  assert (IV : 0 < / seen pi m) by (apply Rinv_0_lt_compat; auto).
  assert (L : forall x y, q 2 pi (m, tt) x < q 2 pi (m, tt) y <-> num pi m x < num pi m y).
  { intros x y. rewrite !q_words by auto. unfold Rdiv. split; intros H.
    - apply Rmult_lt_reg_r in H; auto.
    - apply Rmult_lt_compat_r; auto. }
  assert (LE : forall x y, q 2 pi (m, tt) x <= q 2 pi (m, tt) y <-> num pi m x <= num pi m y).
  { intros x y. rewrite !q_words by auto. unfold Rdiv. split; intros H.
    - apply Rmult_le_reg_r in H; auto.
    - apply Rmult_le_compat_r; auto. lra. }
  destruct b as [a w]. split.
  - intros [I H]. apply in_higher_writes in I. split; auto. intros [a' w'] I' N.
    destruct (H (a', w')) as [X|[X Y]]; auto.
    + apply in_higher_writes; auto.
    + left. apply L; auto.
    + right. split; auto. apply LE; auto.
  - intros [I H]. split; [apply in_higher_writes; auto|]. intros [a' w'] I' N.
    apply in_higher_writes in I'. destruct (H (a', w')) as [X|[X Y]]; auto.
    + left. apply L; auto.
    + right. split; auto. apply LE; auto.
Qed.
Lemma greedy_range pi m : (fst (greedy 2 rule pi (m, tt)) < n /\ snd (greedy 2 rule pi (m, tt)) < K)%nat.
Proof.
  unfold greedy, rule.
  destruct (argmax_best (P := task) (q 2 pi (m, tt)) (fst (by_write n K)) (snd (by_write n K))) as [I _].
  rewrite by_write_list in I by auto.
  assert (X : forall x : nat * nat, In x (higher_writes n K) -> (fst x < n /\ snd x < K)%nat)
    by (intros [a w] J; apply in_higher_writes in J; auto).
  exact (X _ I).
Qed.
Lemma rule_is_order : is_order task rule.
Proof.
  intros [a w]. unfold rule. rewrite by_write_list by auto. rewrite in_higher_writes.
  transitivity (In a (seq 0 n) /\ In w (seq 0 K)); [exact (in_prod_iff _ _ a w)|].
  rewrite !in_seq. lia.
Qed.
Lemma task_is_pomdp : is_pomdp task.
Proof.
  apply augment_is_pomdp; [apply table_is_pomdp; auto|].
  apply det_is_memory; [apply seq_NoDup|]. destruct K; [lia|discriminate].
Qed.
End Words.
Arguments pr {n r K}. Arguments pa {n r K}. Arguments seen {n r K}. Arguments num {n r K}.
Arguments greedy_in {n r K}.
