(* Appendix C: Lemmas C.1 to C.5, Theorem C.6 and Proposition C.1, for B(k) with any k, any step in
   (0, 1], and rewards multiplied by any c > 0. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Ties Words Segment Improvement Expressive.
Import ListNotations.
Open Scope R_scope.

(* Figure 7 *)
Definition r4 (a1 a2 : nat) : R :=
  match a1, a2 with
  | 0%nat, 0%nat => -5 | 0%nat, 1%nat => 1 / 2 | 0%nat, 2%nat => 1 | 0%nat, 3%nat => 1 / 2
  | 1%nat, 0%nat => 0 | 1%nat, 1%nat => 1 / 2 | 1%nat, 2%nat => - (1 / 2) | 1%nat, 3%nat => 3 / 4
  | 2%nat, 0%nat => 0 | 2%nat, 1%nat => 1 / 2 | 2%nat, 2%nat => -5 | 2%nat, 3%nat => 1 / 2
  | 3%nat, 0%nat => 0 | 3%nat, 1%nat => 1 / 2 | 3%nat, 2%nat => -5 | 3%nat, 3%nat => 1 / 2
  | _, _ => 0
  end.
Definition recall4 (c : R) : pomdp := table 4 (fun i j => c * r4 i j).

Lemma four : (0 < 4)%nat. Proof. lia. Qed.
Lemma sum4 f : sum (seq 0 4) f = f 0%nat + f 1%nat + f 2%nat + f 3%nat.
Proof. simpl. ring. Qed.
Lemma preferred_write a w w' : (w' < w)%nat -> preferred (a, w) (a, w').
Proof. left. simpl. lia. Qed.

Section Recall4.
Variables (c : R) (K : nat).
Hypothesis Hc : 0 < c.
Hypothesis HK2 : (2 <= K)%nat.
Let rc := fun i j => c * r4 i j.
Definition with_words := augment (recall4 c) (words (recall4 c) K).
Notation E := with_words.
Notation last := (K - 1)%nat.

(* pi_l: in memory 0 do 1, elsewhere 3; write the last word *)
Definition pil_choice (m : nat) : nat * nat := (if Nat.eqb m 0 then 1%nat else 3%nat, last).
Definition pil : policy E := one_hot (P := E) (fun o => pil_choice (fst o)).
Definition paper_rule : order E := by_write 4 K.

Lemma Kpos : (0 < K)%nat. Proof. lia. Qed.
Lemma pil_pr m a w : pr (n := 4) (r := rc) (K := K) pil m a w =
  if Nat.eq_dec a (fst (pil_choice m)) then if Nat.eq_dec w last then 1 else 0 else 0.
Proof.
  unfold pr, pil, one_hot.
  match goal with |- (if ?d then _ else _) = _ => destruct d as [X|X] end.
  - destruct (Nat.eq_dec a (fst (pil_choice m))) as [_|N]; [|exfalso; apply N; exact (f_equal fst X)].
    destruct (Nat.eq_dec w last) as [_|N]; [reflexivity|exfalso; apply N; exact (f_equal snd X)].
  - destruct (Nat.eq_dec a (fst (pil_choice m))) as [->|]; [|reflexivity].
    destruct (Nat.eq_dec w last) as [->|]; [|reflexivity]. exfalso. apply X. reflexivity.
Qed.
Lemma pil_pa m a : pa (n := 4) (r := rc) (K := K) pil m a =
  if Nat.eq_dec a (fst (pil_choice m)) then 1 else 0.
Proof.
  unfold pa. rewrite (sum_ext _ _ (fun w => if Nat.eq_dec w last then
     (if Nat.eq_dec a (fst (pil_choice m)) then 1 else 0) else 0)).
  - apply (sum_if Nat.eq_dec (seq 0 K) last (fun _ => if Nat.eq_dec a (fst (pil_choice m)) then 1 else 0));
      [apply seq_NoDup|apply in_seq; lia].
  - intros w. rewrite pil_pr. destruct (Nat.eq_dec a _), (Nat.eq_dec w last); auto.
Qed.
Lemma pil_seen m : seen (n := 4) (r := rc) (K := K) pil m = i0 m + (if Nat.eq_dec m last then 1 else 0).
Proof. unfold seen. rewrite sum4, !pil_pr. simpl. destruct (Nat.eq_dec m last); ring. Qed.
Lemma pil_num m b : num (n := 4) (r := rc) (K := K) pil m b =
  c * (i0 m * r4 (fst b) (if Nat.eqb (snd b) 0 then 1 else 3)%nat
       + (if Nat.eq_dec m last then 1 else 0) * r4 1 (fst b)).
Proof.
  unfold num. rewrite !sum4, !pil_pa, !pil_pr. unfold rc, pil_choice. simpl fst.
  destruct (Nat.eqb (snd b) 0); simpl; destruct (Nat.eq_dec m last); ring.
Qed.

Ltac by_action a := destruct a as [|[|[|[|a]]]]; try lia.

(* Lemma C.2: pi_l is greedy on its own q-values *)
Theorem pil_is_greedy_on_itself : greedy_is 4 rc K pil_choice pil.
Proof.
  intros m Hm. split; [|intros _ b; reflexivity].
  rewrite pil_seen. intros V. split.
  { unfold pil_choice. simpl. destruct (Nat.eqb m 0); lia. }
  intros [a w] [Ha Hw] Ne. rewrite !pil_num. simpl fst in *. simpl snd in *.
  unfold i0 in *. destruct (Nat.eq_dec 0 m) as [<-|Hm0].
  - destruct (Nat.eq_dec 0 last) as [|_]; [lia|]. unfold pil_choice in *. simpl Nat.eqb in *. cbv iota in *.
    simpl fst. simpl snd. destruct (Nat.eqb_spec last 0) as [|_]; [lia|].
    destruct (Nat.eq_dec a 1) as [->|Na].
    + destruct (Nat.eqb_spec w 0) as [->|Nw].
      * left. apply Rmult_lt_compat_l; auto. simpl. lra.
      * right. split; [lra|]. apply preferred_write. assert (w <> last) by congruence. lia.
    + left. apply Rmult_lt_compat_l; auto. destruct (Nat.eqb w 0); by_action a; simpl; lra.
  - destruct (Nat.eq_dec m last) as [->|]; [|lra].
    unfold pil_choice in *. destruct (Nat.eqb_spec last 0) as [|_]; [lia|]. simpl fst. simpl snd.
    destruct (Nat.eq_dec a 3) as [->|Na].
    + right. split; [lra|]. apply preferred_write. assert (w <> last) by congruence. lia.
    + left. apply Rmult_lt_compat_l; auto. by_action a; simpl; lra.
Qed.

(* the q-values of the uniform policy *)
Definition u : R := / INR (length (acts E)).
Lemma u_is : u = / (4 * INR K).
Proof.
  unfold u. f_equal.
  transitivity (INR (length (list_prod (seq 0 4) (seq 0 K)))); [reflexivity|].
  rewrite prod_length, !seq_length, mult_INR. simpl. ring.
Qed.
Lemma K_INR : 2 <= INR K.
Proof. replace 2 with (INR 2) by (simpl; ring). apply le_INR. auto. Qed.
Lemma uni_pa m a : pa (n := 4) (r := rc) (K := K) (uniform E) m a = 1 / 4.
Proof.
  unfold pa, pr, uniform. rewrite sum_const, seq_length. fold u. rewrite u_is.
  pose proof K_INR. field. lra.
Qed.
Lemma uni_seen m : seen (n := 4) (r := rc) (K := K) (uniform E) m = i0 m + 4 * u.
Proof. unfold seen, pr, uniform. rewrite sum4. fold u. ring. Qed.
Definition col (a : nat) : R := r4 0 a + r4 1 a + r4 2 a + r4 3 a.
Definition row (a : nat) : R := r4 a 0 + r4 a 1 + r4 a 2 + r4 a 3.
Lemma uni_num m b : num (n := 4) (r := rc) (K := K) (uniform E) m b =
  c * (i0 m * (row (fst b) / 4) + u * col (fst b)).
Proof. unfold num, rc. rewrite !sum4, !uni_pa. unfold pr, uniform. fold u. unfold row, col. field. Qed.
Lemma u_range : 0 < u <= 1 / 8.
Proof.
  rewrite u_is. pose proof K_INR. split; [apply Rinv_0_lt_compat; lra|].
  replace (1 / 8) with (/ 8) by field. apply Rinv_le_contravar; lra.
Qed.
Theorem uniform_goes_to_pil : greedy_is 4 rc K pil_choice (uniform E).
Proof.
  pose proof u_range as U. intros m Hm. split.
  - intros _. split.
    { unfold pil_choice. simpl. destruct (Nat.eqb m 0); lia. }
    intros [a w] [Ha Hw] Ne. rewrite !uni_num. simpl fst in *. simpl snd in *.
    unfold i0, pil_choice in *. destruct (Nat.eq_dec 0 m) as [<-|Hm0].
    + simpl Nat.eqb in *. cbv iota in *. simpl fst.
      destruct (Nat.eq_dec a 1) as [->|Na].
      * right. split; [lra|]. apply preferred_write. assert (w <> last) by congruence. lia.
      * left. apply Rmult_lt_compat_l; auto. by_action a; unfold row, col; simpl; lra.
    + destruct (Nat.eqb_spec m 0) as [|_]; [lia|]. simpl fst.
      destruct (Nat.eq_dec a 3) as [->|Na].
      * right. split; [lra|]. apply preferred_write. assert (w <> last) by congruence. lia.
      * left. apply Rmult_lt_compat_l; auto. by_action a; unfold row, col; simpl; lra.
  - intros N. exfalso. apply N. rewrite uni_seen. pose proof (i0_range m). lra.
Qed.
Lemma uniform_nonneg : nonneg 4 rc K (uniform E).
Proof. intros m a w _ _ _. unfold pr, uniform. fold u. pose proof u_range. lra. Qed.
Lemma pil_range m : (m < K)%nat -> (fst (pil_choice m) < 4 /\ snd (pil_choice m) < K)%nat.
Proof. intros Hm. unfold pil_choice. simpl. destruct (Nat.eqb m 0); lia. Qed.

(* Lemma C.3 *)
Theorem step_keeps_pil eps (pi : policy E) : 0 <= eps <= 1 -> nonneg 4 rc K pi ->
  greedy_is 4 rc K pil_choice pi -> greedy_is 4 rc K pil_choice (mix eps pi pil).
Proof.
  intros He N G. apply (step_keeps 4 rc K four Kpos pil_choice pil_range); auto.
  apply pil_is_greedy_on_itself.
Qed.

Lemma way_to_pil eps : 0 <= eps <= 1 ->
  forall t, greedy_is 4 rc K pil_choice (mix (1 - left_of eps t) (uniform E) pil).
Proof.
  intros He. apply (way_of_step 4 rc K four Kpos pil_choice pil_range (uniform E) eps He uniform_nonneg
    uniform_goes_to_pil pil_is_greedy_on_itself).
Qed.

(* Lemmas C.4 and C.5: every iterate from uniform is x uniform + (1-x) pi_l, x = (1-eps)^t, for every
   step in [0, 1]; at step 1 the loop is at pi_l from the first step on, at step 0 it does not move *)
Theorem loop_from_uniform eps t m b : 0 <= eps <= 1 -> (m < K)%nat ->
  loop (P := E) 2 paper_rule eps (uniform E) t (m, tt) b
  = (1 - eps) ^ t * uniform E (m, tt) b + (1 - (1 - eps) ^ t) * pil (m, tt) b.
Proof.
  intros He Hm.
  pose proof (loop_on_segment 4 rc K four Kpos pil_choice (uniform E) eps
    (way_to_pil eps He) t m b Hm) as L.
  unfold mix, left_of in L. etransitivity; [exact L|].
  change (hot 4 rc K pil_choice (m, tt) b) with (pil (m, tt) b). ring.
Qed.
Theorem loop_goes_to_pil eps m b : 0 < eps <= 1 -> (m < K)%nat ->
  Un_cv (fun t => loop (P := E) 2 paper_rule eps (uniform E) t (m, tt) b) (pil (m, tt) b).
Proof.
  intros He Hm.
  apply (loop_converges 4 rc K four Kpos pil_choice (uniform E) eps ltac:(lra)
    (way_to_pil eps ltac:(lra)) m b); auto. lra.
Qed.
Lemma pil_value_n : value_n (P := E) pil 2 = 3 / 4 * c.
Proof.
  etransitivity; [apply (value_words 4 rc K pil)|].
  assert (X : forall a, sum (seq 0 K) (fun w => pr (n := 4) (r := rc) (K := K) pil 0 a w *
      sum (seq 0 4) (fun i => pa (n := 4) (r := rc) (K := K) pil w i * rc a i))
      = if Nat.eq_dec a 1 then 3 / 4 * c else 0).
  { intros a. destruct (Nat.eq_dec a 1) as [->|N].
    - rewrite (sum_ext _ _ (fun w => if Nat.eq_dec w last then 3 / 4 * c else 0)).
      + apply (sum_if Nat.eq_dec (seq 0 K) last (fun _ => 3 / 4 * c)); [apply seq_NoDup|apply in_seq; lia].
      + intros w. rewrite pil_pr, sum4, !pil_pa. unfold pil_choice. simpl fst. simpl Nat.eqb. cbv iota.
        destruct (Nat.eq_dec 1 1); [|contradiction]. destruct (Nat.eq_dec w last) as [->|]; [|ring].
        destruct (Nat.eqb_spec last 0); [lia|]. simpl. unfold rc, r4. field.
    - apply sum_zero. intros w _. rewrite pil_pr. unfold pil_choice. simpl fst. simpl Nat.eqb. cbv iota.
      destruct (Nat.eq_dec a 1); [contradiction|ring]. }
  rewrite sum4, !X. simpl. ring.
Qed.
Theorem pil_value : is_value (P := E) pil (3 / 4 * c).
Proof. rewrite <- pil_value_n. apply (is_value_words 4 rc K pil). Qed.
Theorem loop_value_goes_to eps : 0 < eps <= 1 ->
  Un_cv (fun t => value_n (P := E) (loop (P := E) 2 paper_rule eps (uniform E) t) 2) (3 / 4 * c).
Proof.
  intros He. rewrite <- pil_value_n.
  apply (loop_value 4 rc K four Kpos pil_choice (uniform E) eps ltac:(lra)
    (way_to_pil eps ltac:(lra))). lra.
Qed.

(* 0 and write 1, then 2 *)
Definition best_choice (m : nat) : nat * nat := (if Nat.eqb m 0 then 0%nat else 2%nat, 1%nat).
Definition best : policy E := one_hot (P := E) (fun o => best_choice (fst o)).
Lemma best_pr m a w : pr (n := 4) (r := rc) (K := K) best m a w =
  if Nat.eq_dec a (fst (best_choice m)) then if Nat.eq_dec w 1 then 1 else 0 else 0.
Proof.
  unfold pr, best, one_hot.
  match goal with |- (if ?d then _ else _) = _ => destruct d as [X|X] end.
  - destruct (Nat.eq_dec a (fst (best_choice m))) as [_|N]; [|exfalso; apply N; exact (f_equal fst X)].
    destruct (Nat.eq_dec w 1) as [_|N]; [reflexivity|exfalso; apply N; exact (f_equal snd X)].
  - destruct (Nat.eq_dec a (fst (best_choice m))) as [->|]; [|reflexivity].
    destruct (Nat.eq_dec w 1) as [->|]; [|reflexivity]. exfalso. apply X. reflexivity.
Qed.
Theorem best_value : is_policy (P := E) best /\ is_value (P := E) best c.
Proof.
  split.
  { apply (is_policy_one_hot (P := E)).
    - apply (acts_once E (task_is_pomdp 4 rc K four Kpos)).
    - intros [m o]. apply (in_prod (seq 0 4) (seq 0 K)); apply in_seq; unfold best_choice; simpl;
        [destruct (Nat.eqb m 0)|]; lia. }
  refine (eq_ind _ (is_value (P := E) best) (is_value_words 4 rc K best) c _).
  etransitivity; [apply (value_words 4 rc K best)|].
  assert (Y : pa (n := 4) (r := rc) (K := K) best 1 2 = 1).
  { unfold pa. rewrite (sum_ext _ _ (fun w => if Nat.eq_dec w 1 then 1 else 0)).
    - apply (sum_if Nat.eq_dec (seq 0 K) 1%nat (fun _ => 1)); [apply seq_NoDup|apply in_seq; lia].
    - intros w. rewrite best_pr. reflexivity. }
  assert (Z : forall i, i <> 2%nat -> pa (n := 4) (r := rc) (K := K) best 1 i = 0).
  { intros i N. unfold pa. apply sum_zero. intros w _. rewrite best_pr. simpl fst. unfold best_choice.
    simpl Nat.eqb. cbv iota. simpl fst. destruct (Nat.eq_dec i 2); [contradiction|auto]. }
  assert (X : forall a, sum (seq 0 K) (fun w => pr (n := 4) (r := rc) (K := K) best 0 a w *
      sum (seq 0 4) (fun i => pa (n := 4) (r := rc) (K := K) best w i * rc a i))
      = if Nat.eq_dec a 0 then c else 0).
  { intros a. destruct (Nat.eq_dec a 0) as [->|N].
    - rewrite (sum_ext _ _ (fun w => if Nat.eq_dec w 1 then c else 0)).
      + apply (sum_if Nat.eq_dec (seq 0 K) 1%nat (fun _ => c)); [apply seq_NoDup|apply in_seq; lia].
      + intros w. rewrite best_pr. unfold best_choice. simpl fst. simpl Nat.eqb. cbv iota.
        destruct (Nat.eq_dec 0 0); [|contradiction]. destruct (Nat.eq_dec w 1) as [->|]; [|ring].
        rewrite sum4, Y, !Z by lia. unfold rc, r4. field.
    - apply sum_zero. intros w _. rewrite best_pr. unfold best_choice. simpl fst. simpl Nat.eqb. cbv iota.
      destruct (Nat.eq_dec a 0); [contradiction|ring]. }
  rewrite sum4, !X. simpl. ring.
Qed.
End Recall4.

(** * The paper's statements *)

(* B(k) on the 4-action recall task, rewards times c *)
Definition bits (c : R) (k : nat) : pomdp := augment (recall4 c) (B (recall4 c) k).
Lemma two_words k : (1 <= k)%nat -> (2 <= 2 ^ k)%nat.
Proof. intros H. change 2%nat with (2 ^ 1)%nat at 1. apply Nat.pow_le_mono_r; lia. Qed.

(* Lemma C.1, as it is printed: B1, any policy *)
Section LemmaC1.
Variable pi : policy (bits 1 1).
Definition p_ (m a w : nat) : R := pi (m, tt) (a, w).
Definition b_ (i : nat) : R := p_ 0 i 0 / (1 + (p_ 0 0 0 + p_ 0 1 0 + p_ 0 2 0 + p_ 0 3 0)).
Definition t_ (i : nat) : R := p_ 0 i 1 / (p_ 0 0 1 + p_ 0 1 1 + p_ 0 2 1 + p_ 0 3 1).
Definition pm_ (m a : nat) : R := p_ m a 0 + p_ m a 1.
Theorem lemma_C1 a w : (a < 4)%nat -> (w < 2)%nat ->
  1 + (p_ 0 0 0 + p_ 0 1 0 + p_ 0 2 0 + p_ 0 3 0) <> 0 ->
  q (P := bits 1 1) 2 pi (0%nat, tt) (a, w) =
    (r4 0 a * b_ 0 + r4 1 a * b_ 1 + r4 2 a * b_ 2 + r4 3 a * b_ 3)
    + (1 - (b_ 0 + b_ 1 + b_ 2 + b_ 3))
      * (pm_ w 0 * r4 a 0 + pm_ w 1 * r4 a 1 + pm_ w 2 * r4 a 2 + pm_ w 3 * r4 a 3) /\
  (p_ 0 0 1 + p_ 0 1 1 + p_ 0 2 1 + p_ 0 3 1 <> 0 ->
   q (P := bits 1 1) 2 pi (1%nat, tt) (a, w) =
    t_ 0 * r4 0 a + t_ 1 * r4 1 a + t_ 2 * r4 2 a + t_ 3 * r4 3 a).
Proof.
  intros Ha Hw D. split.
  - etransitivity; [apply (q_words 4 (fun i j => 1 * r4 i j) 2 four ltac:(lia) pi 0 (a, w) ltac:(lia))|].
    unfold num, seen, pa, pr, i0. cbn [sum seq fst snd]. destruct (Nat.eq_dec 0 0); [|contradiction].
    unfold b_, pm_, p_ in *. field. auto.
  - intros D'.
    etransitivity; [apply (q_words 4 (fun i j => 1 * r4 i j) 2 four ltac:(lia) pi 1 (a, w) ltac:(lia))|].
    unfold num, seen, pa, pr, i0. cbn [sum seq fst snd]. destruct (Nat.eq_dec 0 1); [discriminate|].
    unfold t_, p_ in *. field. intros Z. apply D'. rewrite <- Z. ring.
Qed.
End LemmaC1.

(* the table of Lemma C.4 *)
Definition printed (a m : nat) : R :=
  match a, m with
  | 0%nat, 0%nat => - (11 / 12) | 0%nat, _ => - (5 / 4)
  | 1%nat, 0%nat => 7 / 24 | 1%nat, _ => 1 / 2
  | 2%nat, 0%nat => - (35 / 24) | 2%nat, _ => - (19 / 8)
  | _, 0%nat => - (23 / 48) | _, _ => 9 / 16
  end.
Theorem lemma_C4_table a w m : (a < 4)%nat -> (w < 2)%nat -> (m < 2)%nat ->
  q (P := bits 1 1) 2 (uniform _) (m, tt) (a, w) = printed a m.
Proof.
  intros Ha Hw Hm.
  etransitivity; [apply (q_words 4 (fun i j => 1 * r4 i j) 2 four ltac:(lia) (uniform (with_words 1 2)) m (a, w) Hm)|].
  rewrite (uni_num 1 2 ltac:(lia)), uni_seen, (u_is 1 2). simpl fst.
  destruct m as [|[|m]]; try lia; destruct a as [|[|[|[|a]]]]; try lia;
    unfold i0, row, col, printed; simpl; field.
Qed.

(* Lemma C.4 is the case k = 1 of Lemma C.5 *)
Theorem lemma_C5 k eps : (1 <= k)%nat -> 0 < eps <= 1 ->
  let E := bits 1 k in
  let run := loop (P := E) 2 (paper_rule 1 (2 ^ k)) eps (uniform E) in
  (forall m b, (m < 2 ^ k)%nat -> Un_cv (fun t => run t (m, tt) b) (pil 1 (2 ^ k) (m, tt) b)) /\
  Un_cv (fun t => value_n (P := E) (run t) 2) (3 / 4) /\
  is_value (P := E) (pil 1 (2 ^ k)) (3 / 4) /\
  exists pi, is_policy (P := E) pi /\ is_value (P := E) pi 1.
Proof.
  intros Hk He. pose proof (two_words k Hk) as H2. replace (3 / 4) with (3 / 4 * 1) by ring.
  repeat split.
  - intros m b Hm. apply (loop_goes_to_pil 1 (2 ^ k) Rlt_0_1 H2); auto.
  - apply (loop_value_goes_to 1 (2 ^ k) Rlt_0_1 H2); auto.
  - apply (pil_value 1 (2 ^ k) H2).
  - exists (best 1 (2 ^ k)). apply (best_value 1 (2 ^ k) H2).
Qed.
(* what happens at step 1: the loop is at pi_l after one step and stays there; and at step 0 *)
Theorem lemma_C5_at_one k t m b : (1 <= k)%nat -> (m < 2 ^ k)%nat ->
  loop (P := bits 1 k) 2 (paper_rule 1 (2 ^ k)) 1 (uniform _) (S t) (m, tt) b = pil 1 (2 ^ k) (m, tt) b.
Proof.
  intros Hk Hm. etransitivity; [apply (loop_from_uniform 1 (2 ^ k) Rlt_0_1 (two_words k Hk)); auto; lra|].
  rewrite Rminus_diag_eq by auto. simpl. ring.
Qed.
Theorem lemma_C5_at_zero k t m b : (1 <= k)%nat -> (m < 2 ^ k)%nat ->
  loop (P := bits 1 k) 2 (paper_rule 1 (2 ^ k)) 0 (uniform _) t (m, tt) b = uniform (bits 1 k) (m, tt) b.
Proof.
  intros Hk Hm. etransitivity; [apply (loop_from_uniform 1 (2 ^ k) Rlt_0_1 (two_words k Hk)); auto; lra|].
  rewrite Rminus_0_r, pow1. change (uniform (bits 1 k) (m, tt) b) with (uniform (with_words 1 (2 ^ k)) (m, tt) b). ring.
Qed.

(** * Definition A.2 on this task *)

(* where the ways of a history may be: at the start, after one action, or at the end *)
Lemma weight_start c f : weight (P := recall4 c) (tt, []) f = f Start.
Proof. unfold weight, prob, mean. simpl. unfold prob, mean. simpl. ring. Qed.
Lemma weight_after c a f : weight (P := recall4 c) (tt, [(a, tt)]) f = f (After a).
Proof. unfold weight, prob, mean. simpl. unfold prob, mean. simpl. ring. Qed.
Lemma weight_end c a b f : weight (P := recall4 c) (tt, [(a, tt); (b, tt)]) f = f End.
Proof. unfold weight, prob, mean. simpl. unfold prob, mean. simpl. ring. Qed.
Lemma weight_over c x y z l f : weight (P := recall4 c) (tt, x :: y :: z :: l) f = 0.
Proof. destruct x as [a []], y as [b []], z as [d []]. unfold weight, prob, mean. simpl. unfold prob, mean. simpl. ring. Qed.
Lemma histories c (h : history (recall4 c)) : possible h ->
  h = (tt, []) \/ (exists a, h = (tt, [(a, tt)])) \/ exists a b, h = (tt, [(a, tt); (b, tt)]).
Proof.
  destruct h as [[] [|[a []] [|[b []] [|z l]]]]; intros H; eauto.
  exfalso. unfold possible in H. rewrite weight_over in H. lra.
Qed.
Lemma prob_ret_pos {T} dec (x y : T) : 0 < prob dec (ret x) y -> x = y.
Proof. rewrite prob_ret. destruct (dec x y); auto. lra. Qed.

(* write a + 1 after the first action a, and 5 after the second one *)
Theorem words_are_expressive c K : (6 <= K)%nat ->
  sufficiently_expressive (recall4 c) (words (recall4 c) K).
Proof.
  intros HK.
  exists (fun (x : nat) (_ : unit) (a : nat) => if Nat.eqb x 0 then if Nat.ltb a 4 then S a else 0%nat else 5%nat).
  split.
  { intros x o a. apply in_seq. destruct (Nat.eqb x 0); [destruct (Nat.ltb_spec a 4)|]; simpl; lia. }
  intros h h' Ih Ih' Ph Ph' _ D x [[x0 [E0 L]] [x0' [E0' L']]].
  apply prob_ret_pos in E0, E0'. subst x0 x0'. apply D. clear D.
  assert (R1 : forall a, is_history (P := recall4 c) (tt, [(a, tt)]) -> (a < 4)%nat).
  { intros a I. specialize (I (a, tt) (or_introl eq_refl)). apply in_seq in I. simpl in I. lia. }
  assert (R2 : forall a b, is_history (P := recall4 c) (tt, [(a, tt); (b, tt)]) -> (a < 4)%nat).
  { intros a b I. specialize (I (a, tt) (or_introl eq_refl)). apply in_seq in I. simpl in I. lia. }
  assert (X : forall h x, is_history h -> possible h ->
    leads (P := recall4 c) (m := words (recall4 c) K)
      (fun (x : nat) (_ : unit) (a : nat) => if Nat.eqb x 0 then if Nat.ltb a 4 then S a else 0%nat else 5%nat)
      0%nat (fst h) (snd h) x ->
    (x = 0%nat /\ h = (tt, [])) \/ (exists a, (a < 4)%nat /\ x = S a /\ h = (tt, [(a, tt)])) \/
    (x = 5%nat /\ exists a b, h = (tt, [(a, tt); (b, tt)]))).
  { clear -R1 R2. intros h x I Ph L. destruct (histories c h Ph) as [->|[[a ->]|(a & b & ->)]].
    - left. simpl in L. auto.
    - right. left. exists a. specialize (R1 a I). destruct L as (r & y & E & L). simpl in L. subst y.
      apply prob_ret_pos in E. simpl in E. destruct (Nat.ltb_spec a 4); [auto|lia].
    - right. right. specialize (R2 a b I). destruct L as (r & y & E & r' & y' & E' & L). simpl in L. subst y'.
      apply prob_ret_pos in E. simpl in E. destruct (Nat.ltb_spec a 4); [|lia]. subst y.
      apply prob_ret_pos in E'. simpl in E'. subst x. eauto. }
  destruct (X h x Ih Ph L) as [[-> ->]|[(a & Ha & -> & ->)|(-> & a & b & ->)]];
    destruct (X h' _ Ih' Ph' L') as [[E ->]|[(a' & Ha' & E & ->)|(E & a' & b' & ->)]];
    try discriminate; try (exfalso; lia); intros f.
  - reflexivity.
  - injection E as ->. reflexivity.
  - unfold belief. rewrite !weight_end. reflexivity.
Qed.
(* five beliefs need five words: B1 and B2 are not sufficiently expressive *)
Theorem four_words_are_not_expressive c K : (K <= 4)%nat ->
  ~ sufficiently_expressive (recall4 c) (words (recall4 c) K).
Proof.
  intros HK (f & W & H).
  assert (I : forall a, (a < 4)%nat -> is_history (P := recall4 c) (tt, [(a, tt)])).
  { intros a Ha y [<-|[]]. apply in_seq. simpl. lia. }
  assert (I0 : is_history (P := recall4 c) (tt, [])) by (intros y []).
  assert (P0 : possible (P := recall4 c) (tt, [])) by (unfold possible; rewrite weight_start; lra).
  assert (P1 : forall a, possible (P := recall4 c) (tt, [(a, tt)]))
    by (intros; unfold possible; rewrite weight_after; lra).
  assert (M0 : may_end_in (m := words (recall4 c) K) f (tt, []) 0%nat).
  { exists 0%nat. split; [|reflexivity]. unfold words, det. simpl. rewrite prob_ret. simpl. lra. }
  assert (M1 : forall a, may_end_in (m := words (recall4 c) K) f (tt, [(a, tt)]) (f 0%nat tt a)).
  { intros a. exists 0%nat. split; [unfold words, det; simpl; rewrite prob_ret; simpl; lra|].
    exists 0, (f 0%nat tt a). split; [|reflexivity]. unfold words, det. simpl. rewrite prob_ret.
    destruct (Nat.eq_dec (f 0%nat tt a) (f 0%nat tt a)); [lra|contradiction]. }
  assert (Na : forall a, (a < 4)%nat -> f 0%nat tt a <> 0%nat).
  { intros a Ha E. apply (H (tt, []) (tt, [(a, tt)]) I0 (I a Ha) P0 (P1 a) eq_refl) with (x := 0%nat).
    - intros S. specialize (S (fun s => match s with Start => 1 | _ => 0 end)).
      unfold belief in S. rewrite !weight_start, !weight_after in S. lra.
    - split; auto. pose proof (M1 a) as Y. rewrite E in Y. exact Y. }
  assert (Nb : forall a b, (a < 4)%nat -> (b < 4)%nat -> a <> b -> f 0%nat tt a <> f 0%nat tt b).
  { intros a b Ha Hb Ne E.
    apply (H (tt, [(a, tt)]) (tt, [(b, tt)]) (I a Ha) (I b Hb) (P1 a) (P1 b) eq_refl) with (x := f 0%nat tt a).
    - intros S. specialize (S (fun s => match s with After i => if Nat.eqb i a then 1 else 0 | _ => 0 end)).
      unfold belief in S. rewrite !weight_after, Nat.eqb_refl in S.
      destruct (Nat.eqb_spec b a); [subst; contradiction|lra].
    - split; auto. rewrite E. auto. }
  assert (R : forall a, (f 0%nat tt a < K)%nat) by (intros a; specialize (W 0%nat tt a); apply in_seq in W; lia).
  pose proof (R 0%nat). pose proof (R 1%nat). pose proof (R 2%nat). pose proof (R 3%nat).
  pose proof (Na 0%nat ltac:(lia)). pose proof (Na 1%nat ltac:(lia)). pose proof (Na 2%nat ltac:(lia)).
  pose proof (Na 3%nat ltac:(lia)).
  pose proof (Nb 0%nat 1%nat ltac:(lia) ltac:(lia) ltac:(lia)). pose proof (Nb 0%nat 2%nat ltac:(lia) ltac:(lia) ltac:(lia)).
  pose proof (Nb 0%nat 3%nat ltac:(lia) ltac:(lia) ltac:(lia)). pose proof (Nb 1%nat 2%nat ltac:(lia) ltac:(lia) ltac:(lia)).
  pose proof (Nb 1%nat 3%nat ltac:(lia) ltac:(lia) ltac:(lia)). pose proof (Nb 2%nat 3%nat ltac:(lia) ltac:(lia) ltac:(lia)).
  lia.
Qed.
(* C.b2-expressive and C.b2-expressive* *)
Theorem bits_expressive_from_three c k :
  sufficiently_expressive (recall4 c) (B (recall4 c) k) <-> (3 <= k)%nat.
Proof.
  split.
  - intros H. destruct (le_lt_dec 3 k) as [|L]; auto. exfalso.
    apply (four_words_are_not_expressive c (2 ^ k)); auto.
    change 4%nat with (2 ^ 2)%nat. apply Nat.pow_le_mono_r; lia.
  - intros H. apply words_are_expressive. assert (2 ^ 3 <= 2 ^ k)%nat by (apply Nat.pow_le_mono_r; lia).
    simpl in *. lia.
Qed.

(* Theorem C.6: with a sufficiently expressive memory, and any step in (0, 1], the loop from uniform
   goes to a policy worth 3/4, and a memoryless policy is worth 1 *)
Theorem theorem_C6 k eps : (3 <= k)%nat -> 0 < eps <= 1 ->
  let P := recall4 1 in
  let E := augment P (B P k) in
  sufficiently_expressive P (B P k) /\
  Un_cv (fun t => value_n (P := E) (loop (P := E) 2 (paper_rule 1 (2 ^ k)) eps (uniform E) t) 2) (3 / 4) /\
  exists pi, is_policy (P := E) pi /\ is_value (P := E) pi 1.
Proof.
  intros Hk He P E. split; [apply bits_expressive_from_three; auto|].
  destruct (lemma_C5 k eps ltac:(lia) He) as (_ & V & _ & B). auto.
Qed.
(* Proposition C.1: with the rewards times c it ends c/4 below, whatever c > 0 *)
Theorem proposition_C1 k eps c : (3 <= k)%nat -> 0 < eps <= 1 -> 0 < c ->
  let P := recall4 c in
  let E := augment P (B P k) in
  sufficiently_expressive P (B P k) /\
  Un_cv (fun t => value_n (P := E) (loop (P := E) 2 (paper_rule c (2 ^ k)) eps (uniform E) t) 2) (3 / 4 * c) /\
  exists pi, is_policy (P := E) pi /\ is_value (P := E) pi (3 / 4 * c + c / 4).
Proof.
  intros Hk He Hc P E. pose proof (two_words k ltac:(lia)) as H2.
  split; [apply bits_expressive_from_three; auto|]. split.
  - apply (loop_value_goes_to c (2 ^ k) Hc H2); auto.
  - exists (best c (2 ^ k)). replace (3 / 4 * c + c / 4) with c by field. apply (best_value c (2 ^ k) H2).
Qed.
