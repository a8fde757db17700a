(* The paper's rule for ties: the higher write wins, then the lower action. *)
From Coq Require Import Reals Lra Lia List Bool Arith Sorted.
From Remembering Require Import Sums Model.
Import ListNotations.
Open Scope R_scope.

(* what argmax over a sorted list is: the best, and among equals the first *)
Section Sorted.
Context {P : pomdp}.
Variable before : act P -> act P -> Prop.
Hypothesis asym : forall x y, before x y -> before y x -> False.
Definition wins (f : act P -> R) (l : list (act P)) (x : act P) : Prop :=
  In x l /\ forall y, In y l -> y <> x -> f y < f x \/ (f y <= f x /\ before x y).

Lemma sorted_app x l k : StronglySorted before (l ++ x :: k) ->
  (forall y, In y l -> before y x) /\ (forall y, In y k -> before x y).
Proof.
  induction l as [|z l IH]; simpl; intros S.
  - split; [contradiction|]. apply StronglySorted_inv in S as [_ S]. rewrite Forall_forall in S. auto.
  - apply StronglySorted_inv in S as [S F]. rewrite Forall_forall in F.
    destruct (IH S) as [I1 I2]. split; auto. intros y [<-|H]; auto.
    apply F. apply in_or_app. right. left. auto.
Qed.
Lemma argmax_split (f : act P -> R) first rest : exists l k, first :: rest = l ++ argmax f first rest :: k /\
  (forall y, In y l -> f y < f (argmax f first rest)) /\
  (forall y, In y k -> f y <= f (argmax f first rest)).
Proof.
  revert first. induction rest as [|a rest IH]; intros first; simpl.
  - exists [], []. repeat split; auto; contradiction.
  - destruct (Rlt_dec (f first) (f a)) as [C|C].
    + destruct (IH a) as (l & k & E & L & K). exists (first :: l), k. rewrite E.
      split; [reflexivity|]. split; auto. intros y [<-|H]; auto.
      destruct (argmax_best f a rest) as [_ T]. apply Rlt_le_trans with (f a); auto. apply T. left; auto.
    + destruct (IH first) as (l & k & E & L & K).
      destruct l as [|z l]; simpl in E; injection E as E1 E2.
      * exists [], (a :: k). rewrite <- E1 in *. split; [rewrite E2; reflexivity|].
        split; [contradiction|]. intros y [<-|H]; auto. lra.
      * exists (first :: a :: l), k. subst z. split; [simpl; do 2 f_equal; exact E2|]. split; auto.
        assert (f first < f (argmax f first rest)) by (apply L; left; auto).
        intros y [<-|[<-|H']]; auto. lra. apply L. right. auto.
Qed.
Lemma argmax_wins (f : act P -> R) first rest x : StronglySorted before (first :: rest) ->
  (argmax f first rest = x <-> wins f (first :: rest) x).
Proof.
  intros S. destruct (argmax_split f first rest) as (l & k & E & L & K). split.
  - intros <-. split; [rewrite E; apply in_or_app; right; left; auto|].
    intros y Hy N. rewrite E in Hy, S. destruct (sorted_app _ l k S) as [_ S2].
    apply in_app_or in Hy as [Hy|[Hy|Hy]]; [left; auto|contradiction N; auto|right; auto].
  - intros [Ix Wx]. destruct (act_dec P (argmax f first rest) x) as [|N]; auto. exfalso.
    assert (Ia : In (argmax f first rest) (first :: rest)) by (rewrite E; apply in_or_app; right; left; auto).
    destruct (Wx _ Ia N) as [H|[H B]].
    + destruct (argmax_best f first rest) as [_ T]. specialize (T x Ix). lra.
    + rewrite E in S, Ix. destruct (sorted_app _ l k S) as [S1 S2].
      apply in_app_or in Ix as [Ix|[Ix|Ix]].
      * specialize (L x Ix). lra.
      * auto.
      * apply (asym x (argmax f first rest)); auto.
Qed.
End Sorted.

(* writes 0, ..., K-1 and actions 0, ..., n-1 *)
Fixpoint higher_writes (n K : nat) : list (nat * nat) :=
  match K with O => [] | S k => map (fun a => (a, k)) (seq 0 n) ++ higher_writes n k end.
Definition preferred (x y : nat * nat) : Prop :=
  (snd y < snd x)%nat \/ (snd x = snd y /\ (fst x < fst y)%nat).
Lemma preferred_asym x y : preferred x y -> preferred y x -> False.
Proof. unfold preferred. lia. Qed.
Lemma in_higher_writes n K a w : In (a, w) (higher_writes n K) <-> (a < n /\ w < K)%nat.
Proof.
  induction K as [|K IH]; simpl; [lia|]. rewrite in_app_iff, IH, in_map_iff. split.
  - intros [(b & E & I)|H]; [|lia]. injection E as -> <-. apply in_seq in I. lia.
  - intros [Ha Hw]. destruct (Nat.eq_dec w K) as [->|]; [left|right; lia].
    exists a. split; auto. apply in_seq. lia.
Qed.
Lemma sorted_higher_writes n K : StronglySorted preferred (higher_writes n K).
Proof.
  induction K as [|K IH]; simpl; [constructor|].
  assert (X : forall l, StronglySorted lt l ->
    StronglySorted preferred (map (fun a => (a, K)) l ++ higher_writes n K)).
  { intros l S. induction S as [|a l S IHl F]; simpl; auto. constructor; auto.
    rewrite Forall_forall in *. intros [b w] H. apply in_app_or in H as [H|H].
    - apply in_map_iff in H as (c & E & I). injection E as -> <-. right. simpl. auto.
    - apply in_higher_writes in H. left. simpl. lia. }
  apply X. clear. generalize 0%nat. induction n as [|n IH]; intros s; simpl; constructor; auto.
  rewrite Forall_forall. intros y H. apply in_seq in H. lia.
Qed.
Definition by_write (n K : nat) : (nat * nat) * list (nat * nat) :=
  (hd (0, 0)%nat (higher_writes n K), tl (higher_writes n K)).
Lemma by_write_list n K : (0 < n)%nat -> (0 < K)%nat ->
  fst (by_write n K) :: snd (by_write n K) = higher_writes n K.
Proof. destruct n; [lia|]. destruct K; [lia|]. reflexivity. Qed.
