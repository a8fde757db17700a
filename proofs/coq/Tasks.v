(* Tasks whose numbers can be computed with, rational numbers or polynomials, and the paper's memories;
   one step of a policy, computed. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model TwoSteps.
Import ListNotations.
Open Scope R_scope.

Record task (N : Type) := Task {
  tacts : nat;
  tp : list (list (list (nat * N * N)));       (* by state and action: s', r, probability *)
  tomega : list (list (nat * N));
  tgamma : N;
  tmu : list (nat * N);
  tterm : list bool }.
Arguments Task {N}. Arguments tacts {N}. Arguments tp {N}. Arguments tomega {N}. Arguments tgamma {N}.
Arguments tmu {N}. Arguments tterm {N}.
Definition outcomes {N} (t : task N) (s a : nat) : list (nat * N * N) := nth a (nth s (tp t) []) [].
Definition seen_in {N} (t : task N) (s : nat) : list (nat * N) := nth s (tomega t) [].
Definition ended {N} (t : task N) (s : nat) : bool := nth s (tterm t) true.

(* the paper's memories; a buffer is a list of cells, 0 for an empty one *)
Inductive kind := Nothing | Words (K : nat) | Buffer (must pairs : bool) (k : nat).
Definition writes_of (c : kind) : list nat :=
  match c with Nothing => [0%nat] | Words K => seq 0 K | Buffer must _ _ => if must then [0%nat] else [0; 1]%nat end.
Definition start_of (c : kind) : list nat :=
  match c with Nothing => [] | Words _ => [0%nat] | Buffer _ _ k => repeat 0%nat k end.
Definition after (n : nat) (c : kind) (m : list nat) (w o a : nat) : list nat :=
  match c with
  | Nothing => m
  | Words _ => [w]
  | Buffer must pairs _ =>
      if negb must && Nat.eqb w 0 then m else tl m ++ [S (if pairs then o * n + a else o)%nat]
  end.

Definition row := (list nat * nat)%type.
Definition spot := (nat * list nat * nat)%type.
Definition same_row (x y : row) : bool :=
  Nat.eqb (snd x) (snd y) && (if list_eq_dec Nat.eq_dec (fst x) (fst y) then true else false).
Definition same_spot (x y : spot) : bool :=
  Nat.eqb (fst (fst x)) (fst (fst y)) && same_row (snd (fst x), snd x) (snd (fst y), snd y).
Definition same_act (x y : nat * nat) : bool := Nat.eqb (fst x) (fst y) && Nat.eqb (snd x) (snd y).
Fixpoint look {T U} (same : T -> T -> bool) (l : list (T * U)) (none : U) (x : T) : U :=
  match l with [] => none | (y, u) :: k => if same x y then u else look same k none x end.
Definition table_of (N : Type) := list (row * list ((nat * nat) * N)).
Definition listed {N} (l : table_of N) (o : row) : bool := existsb (fun y => same_row o (fst y)) l.

Lemma same_row_eq x y : same_row x y = true -> x = y.
Proof.
  destruct x as [m o], y as [m' o']. unfold same_row. simpl. intros H. apply andb_prop in H as [H1 H2].
  apply Nat.eqb_eq in H1. destruct (list_eq_dec Nat.eq_dec m m'); [subst; auto|discriminate].
Qed.
Lemma same_row_refl x : same_row x x = true.
Proof.
  unfold same_row. rewrite Nat.eqb_refl. destruct (list_eq_dec Nat.eq_dec (fst x) (fst x)); auto.
Qed.
Lemma same_spot_eq x y : same_spot x y = true -> x = y.
Proof.
  destruct x as [[s m] o], y as [[s' m'] o']. unfold same_spot. cbn [fst snd]. intros H.
  apply andb_prop in H as [H1 H2]. apply Nat.eqb_eq in H1. apply same_row_eq in H2. congruence.
Qed.
Lemma same_act_eq x y : same_act x y = true -> x = y.
Proof.
  destruct x, y. unfold same_act. simpl. intros H. apply andb_prop in H as [H1 H2].
  apply Nat.eqb_eq in H1, H2. congruence.
Qed.
Lemma look_in {T U} same (l : list (T * U)) none x :
  look same l none x = none \/ exists y, In (y, look same l none x) l.
Proof.
  induction l as [|[y u] l IH]; simpl; auto. destruct (same x y); [right; eauto|].
  destruct IH as [IH|[z IH]]; [auto|right; eauto].
Qed.
Lemma in_bind {T U} (d : dist T) (k : T -> dist U) y : In y (bind d k) ->
  exists x z, In x d /\ In z (k (fst x)) /\ y = (fst z, snd x * snd z).
Proof.
  unfold bind. intros H. apply in_flat_map in H as (x & Hx & H). apply in_map_iff in H as (z & <- & Hz).
  eauto 6.
Qed.

Section Numbers.
Context {N : Type}.
Variables (real : N -> R) (zero : N) (add mul : N -> N -> N) (null : N -> bool).
Record sound : Prop := {
  real_zero : real zero = 0;
  real_add : forall x y, real (add x y) = real x + real y;
  real_mul : forall x y, real (mul x y) = real x * real y;
  real_null : forall x, null x = true -> real x = 0 }.
Fixpoint total {T} (l : list T) (f : T -> N) : N :=
  match l with [] => zero | x :: k => add (f x) (total k f) end.
Variables (t : task N) (c : kind) (rows : table_of N).

(** * As a POMDP *)

Definition with_real (y : nat * N) : nat * R := (fst y, real (snd y)).
Definition to_pomdp : pomdp :=
  Pomdp nat nat nat (seq 0 (tacts t))
    (fun s a => map (fun y => (with_real (fst y), real (snd y))) (outcomes t s a))
    (fun s => map with_real (seen_in t s))
    (real (tgamma t)) (map with_real (tmu t)) (ended t) Nat.eq_dec Nat.eq_dec.
Definition to_memory : memory to_pomdp :=
  det (P := to_pomdp) (list nat) nat (writes_of c) (fun m w o a => after (tacts t) c m w o a)
    (start_of c) (list_eq_dec Nat.eq_dec) Nat.eq_dec.
Definition product : pomdp := augment to_pomdp to_memory.
Definition chance (o : row) (b : nat * nat) : N := look same_act (look same_row rows [] o) zero b.
Definition to_policy : policy product := fun o b => real (chance o b).

(** * One step, computed *)

Definition choices_of : list (nat * nat) := list_prod (seq 0 (tacts t)) (writes_of c).
(* the mean, over what an action may lead to, of a function of the reward and the place *)
Definition then_ (f : N -> spot -> N) (x : spot) (b : nat * nat) : N :=
  let '(s, m, o) := x in
  total (outcomes t s (fst b)) (fun y =>
    mul (snd y) (total (seen_in t (fst (fst y))) (fun z =>
      mul (snd z) (f (snd (fst y)) (fst (fst y), after (tacts t) c m (snd b) o (fst b), fst z))))).
(* and over the actions of the policy *)
Definition chosen (o : row) (f : nat * nat -> N) : N :=
  total choices_of (fun b => if null (chance o b) then zero else mul (chance o b) (f b)).
Definition step_of (f : N -> spot -> N) (x : spot) : N := chosen (snd (fst x), snd x) (then_ f x).
Definition start_with (f : spot -> N) : N :=
  total (tmu t) (fun y => mul (snd y) (total (seen_in t (fst y)) (fun z =>
    mul (snd z) (f (fst y, start_of c, fst z))))).

Hypothesis S : sound.
Lemma total_sum {T} (l : list T) f : real (total l f) = sum l (fun x => real (f x)).
Proof. induction l; simpl; [apply S|]. rewrite (real_add S), IHl. auto. Qed.
Lemma then_right (f : N -> spot -> N) (g : R -> spot -> R) s m o a w :
  (forall r x, real (f r x) = g (real r) x) ->
  real (then_ f (s, m, o) (a, w)) = mean (p product (s, m, o) (a, w)) (fun y => g (snd y) (fst y)).
Proof.
  intros H. symmetry.
  etransitivity; [apply (mean_bind (p to_pomdp s a))|].
  unfold mean at 1. simpl (p to_pomdp s a). rewrite sum_map. unfold then_. rewrite total_sum.
  apply sum_ext. intros y. simpl fst. simpl snd. rewrite (real_mul S). f_equal.
  etransitivity; [apply mean_bind|]. unfold mean at 1. simpl (omega to_pomdp _).
  rewrite sum_map, total_sum.
  apply sum_ext. intros z. simpl fst. simpl snd. rewrite (real_mul S), H. f_equal.
  unfold mean. simpl. ring.
Qed.
Lemma chosen_right o f g : (forall b, real (f b) = g b) ->
  real (chosen o f) = choose (P := product) to_policy o g.
Proof.
  intros H. unfold chosen, choose. rewrite total_sum. apply (sum_ext (T := nat * nat)). intros b.
  unfold to_policy. destruct (null (chance o b)) eqn:Z.
  - rewrite (real_null S _ Z), (real_zero S). ring.
  - rewrite (real_mul S), H. auto.
Qed.
Lemma step_right (f : N -> spot -> N) (g : R -> spot -> R) s m o :
  (forall r x, real (f r x) = g (real r) x) ->
  real (step_of f (s, m, o)) =
  choose (P := product) to_policy (m, o) (fun b => mean (p product (s, m, o) b) (fun y => g (snd y) (fst y))).
Proof.
  intros H. unfold step_of. apply chosen_right. intros [a w]. apply then_right. auto.
Qed.
Lemma start_right (f : spot -> N) g : (forall x, real (f x) = g x) ->
  real (start_with f) = mean (mu product) g.
Proof.
  intros H. symmetry. etransitivity; [apply (mean_bind (mu to_pomdp))|].
  unfold mean at 1. simpl (mu to_pomdp). rewrite sum_map. unfold start_with. rewrite total_sum.
  apply sum_ext. intros y. rewrite (real_mul S). cbn [with_real fst snd]. f_equal.
  etransitivity; [apply mean_bind|]. etransitivity; [apply mean_ret|].
  etransitivity; [apply mean_bind|]. unfold mean at 1. simpl (omega to_pomdp _).
  rewrite sum_map, total_sum.
  apply sum_ext. intros z. rewrite (real_mul S), H. cbn [with_real fst snd]. apply f_equal.
  exact (mean_ret (T := state product) _ g).
Qed.
Lemma product_in s m o a w z : In z (p product (s, m, o) (a, w)) ->
  exists y x, In y (outcomes t s a) /\ In x (seen_in t (fst (fst y))) /\
    snd z = real (snd y) * (real (snd x) * (1 * 1)) /\
    fst (fst z) = (fst (fst y), after (tacts t) c m w o a, fst x).
Proof.
  intros H. apply in_bind in H as ([[s' r] x] & z1 & H1 & H2 & ->).
  apply in_map_iff in H1 as (y & E1 & Hy). injection E1 as <- <- <-.
  apply in_bind in H2 as (x1 & z2 & H3 & H4 & ->). apply in_map_iff in H3 as (q & <- & Hq).
  apply in_bind in H4 as (x2 & z3 & H5 & H6 & ->). destruct H5 as [<-|[]]. destruct H6 as [<-|[]].
  exists y, q. cbn in *. auto.
Qed.
Lemma product_start y : In y (mu product) -> exists s o,
  fst y = (fst s, start_of c, fst o) /\ In s (tmu t) /\ In o (seen_in t (fst s)).
Proof.
  intros Hy. apply in_bind in Hy as (x1 & z1 & H1 & H2 & ->).
  apply in_map_iff in H1 as (q1 & <- & Hq1). apply in_bind in H2 as (x2 & z2 & H3 & H4 & ->).
  destruct H3 as [<-|[]]. apply in_bind in H4 as (x3 & z3 & H5 & H6 & ->).
  apply in_map_iff in H5 as (q3 & <- & Hq3). destruct H6 as [<-|[]].
  exists q1, q3. cbn in *. auto.
Qed.
End Numbers.
