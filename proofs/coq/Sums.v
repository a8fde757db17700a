(* Finite sums over lists, and distributions with finite support. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
Import ListNotations.
Open Scope R_scope.

(** * Sums *)

(* sum l f = f x_1 + ... + f x_k for l = [x_1; ...; x_k] *)
Fixpoint sum {T : Type} (l : list T) (f : T -> R) : R :=
  match l with [] => 0 | x :: k => f x + sum k f end.

Section Sums.
Context {T : Type}.
Implicit Types (l : list T) (f g : T -> R).

Lemma sum_ext_in l f g : (forall x, In x l -> f x = g x) -> sum l f = sum l g.
Proof. induction l; simpl; intros H; auto. rewrite H, IHl; auto. Qed.
Lemma sum_ext l f g : (forall x, f x = g x) -> sum l f = sum l g.
Proof. intros; apply sum_ext_in; auto. Qed.
Lemma sum_plus l f g : sum l (fun x => f x + g x) = sum l f + sum l g.
Proof. induction l; simpl; try rewrite IHl; lra. Qed.
Lemma sum_minus l f g : sum l (fun x => f x - g x) = sum l f - sum l g.
Proof. induction l; simpl; try rewrite IHl; lra. Qed.
Lemma sum_scal l c f : sum l (fun x => c * f x) = c * sum l f.
Proof. induction l; simpl; try rewrite IHl; lra. Qed.
Lemma sum_scal_r l c f : sum l (fun x => f x * c) = sum l f * c.
Proof. induction l; simpl; try rewrite IHl; lra. Qed.
Lemma sum_zero l f : (forall x, In x l -> f x = 0) -> sum l f = 0.
Proof. induction l; simpl; intros H; auto. rewrite H, IHl; auto. lra. Qed.
Lemma sum_const l c : sum l (fun _ => c) = INR (length l) * c.
Proof. induction l; [simpl; lra|]. simpl sum. rewrite IHl. simpl length. rewrite S_INR. lra. Qed.
Lemma sum_app l k f : sum (l ++ k) f = sum l f + sum k f.
Proof. induction l; simpl; try rewrite IHl; lra. Qed.
Lemma sum_le l f g : (forall x, In x l -> f x <= g x) -> sum l f <= sum l g.
Proof.
  induction l; simpl; intros H; [lra|].
  apply Rplus_le_compat; [apply H|apply IHl; intros; apply H]; auto.
Qed.
Lemma sum_nonneg l f : (forall x, In x l -> 0 <= f x) -> 0 <= sum l f.
Proof.
  intros H. replace 0 with (sum l (fun _ => 0)) by (rewrite sum_const; lra). apply sum_le; auto.
Qed.
Lemma sum_pos_term l f x : (forall y, In y l -> 0 <= f y) -> In x l -> f x <= sum l f.
Proof.
  induction l; simpl; intros H Hx; [contradiction|]. destruct Hx as [<-|Hx].
  - assert (0 <= sum l f) by (apply sum_nonneg; auto). lra.
  - assert (f x <= sum l f) by (apply IHl; auto). assert (0 <= f a) by auto. lra.
Qed.
Lemma sum_abs l f : Rabs (sum l f) <= sum l (fun x => Rabs (f x)).
Proof.
  induction l; simpl; [rewrite Rabs_R0; lra|].
  apply Rle_trans with (1 := Rabs_triang _ _). lra.
Qed.
Variable dec : forall x y : T, {x = y} + {x <> y}.
Lemma sum_if_absent l k c : ~ In k l -> sum l (fun x => if dec x k then c x else 0) = 0.
Proof. intros H. apply sum_zero. intros x Hx. destruct (dec x k); [subst; contradiction|auto]. Qed.
Lemma sum_if l k c : NoDup l -> In k l -> sum l (fun x => if dec x k then c x else 0) = c k.
Proof.
  induction 1 as [|x l Hx Hl IH]; simpl; intros Hk; [contradiction|].
  destruct (dec x k) as [->|Hne].
  - rewrite sum_if_absent by auto. lra.
  - rewrite IH; [lra|]. destruct Hk; [contradiction|auto].
Qed.
End Sums.

Lemma sum_map {T U} (h : T -> U) l f : sum (map h l) f = sum l (fun x => f (h x)).
Proof. induction l; simpl; try rewrite IHl; auto. Qed.
Lemma sum_flat_map {T U} (h : T -> list U) l f :
  sum (flat_map h l) f = sum l (fun x => sum (h x) f).
Proof. induction l; simpl; auto. rewrite sum_app, IHl; auto. Qed.
Lemma sum_list_prod {T U} (l : list T) (k : list U) f :
  sum (list_prod l k) f = sum l (fun x => sum k (fun y => f (x, y))).
Proof. induction l; simpl; auto. rewrite sum_app, IHl, sum_map; auto. Qed.
Lemma sum_swap {T U} (l : list T) (k : list U) f :
  sum l (fun x => sum k (fun y => f x y)) = sum k (fun y => sum l (fun x => f x y)).
Proof.
  induction l; simpl.
  - rewrite sum_zero; auto.
  - rewrite IHl, <- sum_plus. auto.
Qed.

(* over 0, ..., n-1 *)
Definition sumn (n : nat) (f : nat -> R) : R := sum (seq 0 n) f.
Lemma sumn_S n f : sumn (S n) f = sumn n f + f n.
Proof. unfold sumn. rewrite seq_S, sum_app. simpl. lra. Qed.
Lemma sumn_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sumn n f = sumn n g.
Proof. intros H. apply sum_ext_in. intros i Hi. apply in_seq in Hi. apply H. lia. Qed.
Lemma sumn_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sumn n f <= sumn n g.
Proof. intros H. apply sum_le. intros i Hi. apply in_seq in Hi. apply H. lia. Qed.

(** * Distributions *)

(* outcomes with their probabilities *)
Definition dist (T : Type) := list (T * R).
Definition mean {T} (d : dist T) (f : T -> R) : R := sum d (fun y => snd y * f (fst y)).
Definition is_dist {T} (d : dist T) : Prop :=
  (forall y, In y d -> 0 <= snd y) /\ mean d (fun _ => 1) = 1.
Definition ret {T} (x : T) : dist T := [(x, 1)].
Definition bind {T U} (d : dist T) (k : T -> dist U) : dist U :=
  flat_map (fun y => map (fun z => (fst z, snd y * snd z)) (k (fst y))) d.
(* the probability of x *)
Definition prob {T} (dec : forall x y : T, {x = y} + {x <> y}) (d : dist T) (x : T) : R :=
  mean d (fun y => if dec y x then 1 else 0).

Section Means.
Context {T : Type}.
Implicit Types (d : dist T) (f g : T -> R).
Lemma mean_ext d f g : (forall x, f x = g x) -> mean d f = mean d g.
Proof. intros H. apply sum_ext. intros; rewrite H; auto. Qed.
Lemma mean_ext_in d f g : (forall y, In y d -> f (fst y) = g (fst y)) -> mean d f = mean d g.
Proof. intros H. apply sum_ext_in. intros; rewrite H; auto. Qed.
Lemma mean_plus d f g : mean d (fun x => f x + g x) = mean d f + mean d g.
Proof. unfold mean. rewrite <- sum_plus. apply sum_ext. intros; ring. Qed.
Lemma mean_minus d f g : mean d (fun x => f x - g x) = mean d f - mean d g.
Proof. unfold mean. rewrite <- sum_minus. apply sum_ext. intros; ring. Qed.
Lemma mean_scal d c f : mean d (fun x => c * f x) = c * mean d f.
Proof. unfold mean. rewrite <- sum_scal. apply sum_ext. intros; ring. Qed.
Lemma mean_scal_r d c f : mean d (fun x => f x * c) = mean d f * c.
Proof. unfold mean. rewrite <- sum_scal_r. apply sum_ext. intros; ring. Qed.
Lemma mean_zero d : mean d (fun _ => 0) = 0.
Proof. apply sum_zero. intros; ring. Qed.
Lemma mean_const d c : is_dist d -> mean d (fun _ => c) = c.
Proof.
  intros [_ H]. rewrite (mean_ext d _ (fun _ => c * 1)) by (intros; ring).
  rewrite mean_scal, H. ring.
Qed.
Lemma mean_le d f g : is_dist d -> (forall x, f x <= g x) -> mean d f <= mean d g.
Proof. intros [H _] L. apply sum_le. intros y Hy. apply Rmult_le_compat_l; auto. Qed.
Lemma mean_le_in d f g : is_dist d -> (forall y, In y d -> f (fst y) <= g (fst y)) ->
  mean d f <= mean d g.
Proof. intros [H _] L. apply sum_le. intros y Hy. apply Rmult_le_compat_l; auto. Qed.
Lemma mean_abs d f B : is_dist d -> (forall x, Rabs (f x) <= B) -> Rabs (mean d f) <= B.
Proof.
  intros H L. apply Rle_trans with (mean d (fun _ => B)); [|rewrite mean_const; auto; lra].
  apply Rle_trans with (1 := sum_abs _ _). apply sum_le. intros y Hy.
  rewrite Rabs_mult, (Rabs_pos_eq (snd y)) by (apply H; auto).
  apply Rmult_le_compat_l; auto. apply H; auto.
Qed.
Lemma mean_ret x f : mean (ret x) f = f x.
Proof. unfold mean, ret. simpl. ring. Qed.
Lemma mean_sum {U} d (l : list U) (f : T -> U -> R) :
  mean d (fun x => sum l (f x)) = sum l (fun u => mean d (fun x => f x u)).
Proof.
  unfold mean. rewrite (sum_ext d _ (fun y => sum l (fun u => snd y * f (fst y) u))).
  - apply sum_swap.
  - intros; rewrite sum_scal; auto.
Qed.
Lemma is_dist_ret (x : T) : is_dist (ret x).
Proof. split; [intros y [<-|[]]; simpl; lra|rewrite mean_ret; auto]. Qed.
End Means.

Lemma mean_bind {T U} (d : dist T) (k : T -> dist U) f :
  mean (bind d k) f = mean d (fun x => mean (k x) f).
Proof.
  unfold mean, bind. rewrite sum_flat_map. apply sum_ext. intros y.
  rewrite sum_map, <- sum_scal. apply sum_ext. intros; simpl; ring.
Qed.
Lemma is_dist_bind {T U} (d : dist T) (k : T -> dist U) :
  is_dist d -> (forall x, is_dist (k x)) -> is_dist (bind d k).
Proof.
  intros H K. split.
  - intros y Hy. apply in_flat_map in Hy as [x [Hx Hy]]. apply in_map_iff in Hy as [z [<- Hz]].
    simpl. apply Rmult_le_pos; [apply H|apply (K (fst x))]; auto.
  - rewrite mean_bind, (mean_ext d _ (fun _ => 1)) by (intros; apply K). apply H.
Qed.
Lemma is_dist_bind_in {T U} (d : dist T) (k : T -> dist U) :
  is_dist d -> (forall y, In y d -> is_dist (k (fst y))) -> is_dist (bind d k).
Proof.
  intros H K. split.
  - intros y Hy. apply in_flat_map in Hy as [x [Hx Hy]]. apply in_map_iff in Hy as [z [<- Hz]].
    simpl. apply Rmult_le_pos; [apply H|apply (K x)]; auto.
  - rewrite mean_bind, (mean_ext_in d _ (fun _ => 1)) by (intros; apply K; auto). apply H.
Qed.
Lemma prob_ret {T} dec (x y : T) : prob dec (ret x) y = if dec x y then 1 else 0.
Proof. apply mean_ret. Qed.

Section Prob.
Context {T : Type}.
Variable dec : forall x y : T, {x = y} + {x <> y}.
Lemma prob_nonneg d x : (forall y, In y d -> 0 <= snd y) -> 0 <= prob dec d x.
Proof.
  intros H. apply sum_nonneg. intros y Hy. apply Rmult_le_pos; auto. destruct (dec _ _); lra.
Qed.
(* a mean by the probabilities of a list that holds all outcomes once *)
Lemma mean_prob d l f : NoDup l -> (forall y, In y d -> In (fst y) l) ->
  mean d f = sum l (fun x => prob dec d x * f x).
Proof.
  intros Hl Hd. unfold prob.
  rewrite (sum_ext l _ (fun x => mean d (fun y => if dec x y then f x else 0))).
  - rewrite <- mean_sum. apply mean_ext_in. intros y Hy. rewrite (sum_if dec l (fst y) f); auto.
  - intros x. rewrite <- mean_scal_r. apply mean_ext. intros y.
    destruct (dec y x), (dec x y); subst; try contradiction; ring.
Qed.
End Prob.
