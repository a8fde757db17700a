(* C.b2-expressive*: B(k) is sufficiently expressive for the 4-action recall task exactly from k = 3 on, and
   an optimal policy needs one bit. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps Expressive Suboptimal Histories.
Import ListNotations.
Open Scope R_scope.

Lemma r4_at_most a b : (a < 4)%nat -> (b < 4)%nat -> 1 * r4 a b <= 1.
Proof.
  intros Ha Hb. destruct a as [|[|[|[|a]]]]; try lia; destruct b as [|[|[|[|b]]]]; try lia; simpl; lra.
Qed.
Lemma at_most_one x y : 0 <= x -> y <= 1 -> x * y <= x.
Proof. intros X Y. pose proof (Rmult_le_compat_l x y 1 X Y). lra. Qed.
(* no history-based policy is worth more than 1, and 0, 2 is *)
Lemma recall4_best : is_best_history (recall4 1) 2 1.
Proof.
  set (P := recall4 1). set (r := fun i j => 1 * r4 i j).
  assert (V : forall rho : policy (augment P (everything P)), value_n rho 2 =
    sum (choices 4 hold [Push]) (fun c => rho ([], tt) c * later 4 r (pairs P) hold [Push]
      (fun l _ o a => (o, a) :: l) [] (pairs_dec P) hold_dec rho (fst c) [(tt, fst c)])).
  { intros rho. apply (value_table 4 r (pairs P) hold [Push] (fun l _ o a => (o, a) :: l) [] (pairs_dec P) hold_dec rho 0). }
  assert (C : forall c, In c (choices 4 hold [Push]) -> (fst c < 4)%nat).
  { intros [a w] H. apply in_prod_iff in H as [H _]. apply in_seq in H. simpl. lia. }
  split.
  - intros rho H. rewrite V.
    assert (One : forall m, sum (choices 4 hold [Push]) (rho (m, tt)) = 1) by (intros m; apply (H (m, tt))).
    assert (Pos : forall m c, In c (choices 4 hold [Push]) -> 0 <= rho (m, tt) c) by (intros m c Hc; apply (H (m, tt)); auto).
    apply Rle_trans with (sum (choices 4 hold [Push]) (rho ([], tt))); [|right; apply One].
    apply sum_le. intros c Hc. apply at_most_one; [apply Pos; auto|].
    unfold later. apply Rle_trans with (sum (choices 4 hold [Push]) (rho ([(tt, fst c)], tt))); [|right; apply One].
    apply sum_le. intros d Hd. apply at_most_one; [apply Pos; auto|].
    apply r4_at_most; auto.
  - exists (one_hot (P := augment P (everything P)) (fun y => (match fst y with [] => 0%nat | _ => 2%nat end, Push))). split.
    + apply is_policy_one_hot.
      * apply (acts_once _ (augment_is_pomdp P (everything P) (table_is_pomdp 4 r four)
          (det_is_memory _ _ [Push] _ _ _ _ ltac:(repeat constructor; simpl; tauto) ltac:(discriminate)))).
      * intros [l o]. apply (in_prod (seq 0 4) [Push]); [|simpl; auto]. destruct l; apply in_seq; simpl; lia.
    + rewrite V. unfold later, choices, one_hot, r. simpl. lra.
Qed.
Theorem one_bit_is_enough_three_are_expressive k :
  (sufficiently_expressive (recall4 1) (B (recall4 1) k) <-> (3 <= k)%nat) /\
  ((1 <= k)%nat -> exists pi : policy (augment (recall4 1) (B (recall4 1) k)), is_policy pi /\ is_value pi 1) /\
  is_best_history (recall4 1) 2 1.
Proof.
  split; [apply bits_expressive_from_three|]. split; [|apply recall4_best].
  intros Hk. exists (best 1 (2 ^ k)). apply (best_value 1 (2 ^ k) (two_words k Hk)).
Qed.
