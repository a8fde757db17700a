(* Certificates with rational numbers: a program that checks what a policy is worth, and the proof
   that it is right about the definitions of `Model.v`. *)
From Coq Require Import Reals Lra Lia List Bool Arith QArith Qreals.
From Remembering Require Import Sums Model TwoSteps Improvement Polynomials Tasks.
Import ListNotations.
Open Scope R_scope.

(** * Bellman's equation on the places that a policy can reach *)

Section Closed.
Variables (P : pomdp) (pi : policy P) (D : state P -> Prop).
Hypothesis gamma_pos : 0 <= gamma P.
Hypothesis start_in : forall y, In y (mu P) -> D (fst y).
(* where the episode goes on: no chance is negative, and what is taken leads to D again *)
Hypothesis step_in : forall s, D s -> terminal P s = false ->
  forall y, In y (omega P s) -> 0 <= snd y /\
  forall a, In a (acts P) -> pi (fst y) a = 0 \/
    (0 <= pi (fst y) a /\ forall z, In z (p P s a) -> 0 <= snd z /\ D (fst (fst z))).

Lemma go_le_in f g s : (forall s, D s -> f s <= g s) -> D s -> go pi f s <= go pi g s.
Proof.
  intros L Ds. unfold go. destruct (terminal P s) eqn:T; [lra|].
  apply sum_le. intros y Hy. destruct (step_in s Ds T y Hy) as [Y A].
  apply Rmult_le_compat_l; auto. apply sum_le. intros a Ha. destruct (A a Ha) as [->|[X Z]]; [lra|].
  apply Rmult_le_compat_l; auto. apply sum_le. intros z Hz. destruct (Z z Hz) as [Z1 Z2].
  apply Rmult_le_compat_l; auto.
Qed.
Lemma go_ext_in f g s : (forall s, D s -> f s = g s) -> D s -> go pi f s = go pi g s.
Proof.
  intros E Ds. apply Rle_antisym; apply go_le_in; auto; intros t Ht; rewrite E; auto; lra.
Qed.
Definition still (s : state P) : R := if terminal P s then 0 else 1.
Fixpoint left_after (n : nat) (s : state P) : R :=
  match n with O => still s | S k => gamma P * go pi (left_after k) s end.
Lemma go_zero s : go pi (fun _ => 0) s = 0.
Proof.
  replace (go pi (fun _ => 0) s) with (go pi (fun _ => 0 * 0) s); [rewrite go_scal; ring|].
  apply go_ext. intros; ring.
Qed.
Lemma left_pos n s : D s -> 0 <= left_after n s.
Proof.
  revert s. induction n; intros s Ds; cbn [left_after].
  - unfold still. destruct (terminal P s); lra.
  - apply Rmult_le_pos; auto. rewrite <- (go_zero s). apply go_le_in; auto.
Qed.
Variable l : state P -> R.
Hypothesis l_pos : forall s, D s -> 0 <= l s.
Hypothesis l_falls : forall s, D s -> still s + gamma P * go pi l s <= l s.
Lemma left_sum n s : D s -> sumn n (fun t => left_after t s) <= l s.
Proof.
  revert s. induction n as [|n IH]; intros s Ds; [unfold sumn; simpl; auto|].
  apply Rle_trans with (2 := l_falls s Ds).
  assert (E : sumn (S n) (fun t => left_after t s)
            = still s + gamma P * go pi (fun s => sumn n (fun t => left_after t s)) s).
  { clear IH. induction n as [|n IH].
    - rewrite sumn_S. unfold sumn. cbn [seq sum left_after]. rewrite go_zero. ring.
    - rewrite sumn_S, IH. cbn [left_after].
      rewrite (go_ext pi (fun s => sumn (S n) (fun t => left_after t s))
        (fun s => sumn n (fun t => left_after t s) + left_after n s) s) by (intros; apply sumn_S).
      rewrite go_plus. ring. }
  rewrite E. apply Rplus_le_compat_l. apply Rmult_le_compat_l; auto. apply go_le_in; auto.
Qed.
Lemma left_fades s : D s -> Un_cv (fun n => left_after n s) 0.
Proof.
  intros Ds. set (S_ := fun n => sumn n (fun t => left_after t s)).
  assert (G : Un_growing S_).
  { intros n. unfold S_. rewrite sumn_S. pose proof (left_pos n s Ds). lra. }
  destruct (growing_cv S_) as [x X]; auto.
  { exists (l s). intros y [n ->]. apply left_sum; auto. }
  assert (Y : Un_cv (fun n => S_ (S n)) x).
  { intros e He. destruct (X e He) as [n N]. exists n. intros k Hk. apply N. lia. }
  apply (cv_ext (fun n => S_ (S n) - S_ n)).
  - intros n. unfold S_. rewrite sumn_S. ring.
  - replace 0 with (x - x) by ring. apply (CV_minus (fun n => S_ (S n))); auto.
Qed.
Variables (v : state P -> R) (B : R).
Hypothesis v_bellman : forall s, D s -> v s = backup pi v s.
Hypothesis v_bound : forall s, D s -> Rabs (v s) <= B * still s.
Lemma vn_close n s : D s -> Rabs (v s - vn pi n s) <= B * left_after n s.
Proof.
  revert s. induction n as [|n IH]; intros s Ds; cbn [vn left_after].
  - rewrite Rminus_0_r. auto.
  - rewrite (v_bellman s Ds), (backup_go pi v), (backup_go pi (vn pi n)).
    replace (backup pi (fun _ => 0) s + gamma P * go pi v s
             - (backup pi (fun _ => 0) s + gamma P * go pi (vn pi n) s))
      with (gamma P * (go pi v s + (-1) * go pi (vn pi n) s)) by ring.
    rewrite <- go_scal, <- go_plus.
    replace (B * (gamma P * go pi (left_after n) s)) with (gamma P * (B * go pi (left_after n) s)) by ring.
    rewrite Rabs_mult, (Rabs_pos_eq (gamma P)) by auto. apply Rmult_le_compat_l; auto.
    rewrite <- go_scal. apply Rabs_le. split.
    + replace (- go pi (fun s => B * left_after n s) s) with (go pi (fun s => (-1) * (B * left_after n s)) s)
        by (rewrite go_scal; ring).
      apply go_le_in; auto. intros t Ht. specialize (IH t Ht).
      pose proof (Rle_abs (- (v t - vn pi n t))) as K. rewrite Rabs_Ropp in K. lra.
    + apply go_le_in; auto. intros t Ht. specialize (IH t Ht).
      pose proof (Rle_abs (v t - vn pi n t)). lra.
Qed.
Lemma vn_tends s : D s -> Un_cv (fun n => vn pi n s) (v s).
Proof.
  intros Ds. apply (cv_ext (fun n => v s - (v s - vn pi n s))); [intros; ring|].
  rewrite <- (Rminus_0_r (v s)) at 1. apply (CV_minus (fun _ => v s)); [apply cv_const|].
  apply (cv_squeeze _ (fun n => B * left_after n s)).
  - intros n. apply vn_close; auto.
  - rewrite <- (Rmult_0_r B). apply cv_scal. apply left_fades; auto.
Qed.
Theorem value_on_places : is_value pi (mean (mu P) v).
Proof.
  unfold is_value, value_n, mean. apply (cv_sum (mu P) (fun y n => snd y * vn pi n (fst y))).
  intros y Hy. apply cv_scal. apply vn_tends. auto.
Qed.
End Closed.

(* v = r + gamma P v has at most one bounded solution on D, what the states are worth, if episodes end: l
   bounds the mean number of steps that are left, each counted as much as gamma leaves of it *)
Theorem one_solution (P : pomdp) (pi : policy P) (D : state P -> Prop) (l v v' : state P -> R) (B B' : R) :
  0 <= gamma P ->
  (forall s, D s -> terminal P s = false -> forall y, In y (omega P s) -> 0 <= snd y /\
     forall a, In a (acts P) -> pi (fst y) a = 0 \/
       (0 <= pi (fst y) a /\ forall z, In z (p P s a) -> 0 <= snd z /\ D (fst (fst z)))) ->
  (forall s, D s -> 0 <= l s) -> (forall s, D s -> still P s + gamma P * go pi l s <= l s) ->
  (forall s, D s -> v s = backup pi v s) -> (forall s, D s -> Rabs (v s) <= B * still P s) ->
  (forall s, D s -> v' s = backup pi v' s) -> (forall s, D s -> Rabs (v' s) <= B' * still P s) ->
  forall s, D s -> v s = v' s.
Proof.
  intros G S L F E1 B1 E2 B2 s Ds. apply (UL_sequence (fun n => vn pi n s)).
  - apply (vn_tends P pi D G S l L F v B E1 B1); auto.
  - apply (vn_tends P pi D G S l L F v' B' E2 B2); auto.
Qed.
(* and if gamma < 1, whatever the policy *)
Theorem one_solution_discounted (P : pomdp) (pi : policy P) (v v' : state P -> R) (B B' : R) :
  is_pomdp P -> is_policy pi -> gamma P < 1 ->
  (forall s, v s = backup pi v s) -> (forall s, Rabs (v s) <= B * still P s) ->
  (forall s, v' s = backup pi v' s) -> (forall s, Rabs (v' s) <= B' * still P s) ->
  forall s, v s = v' s.
Proof.
  intros HP I G E1 B1 E2 B2 s. destruct (gamma_range P HP) as [G0 _].
  assert (0 < / (1 - gamma P)) by (apply Rinv_0_lt_compat; lra).
  apply (one_solution P pi (fun _ => True) (fun _ => / (1 - gamma P)) v v' B B'); auto; try (intros; lra).
  - intros u _ T y Hy. split; [apply (omega_dist P HP u); auto|]. intros a Ha. right.
    split; [apply I; auto|]. intros z Hz. split; auto. apply (p_dist P HP u a T); auto.
  - intros u _. rewrite (go_const HP pi _ u I). unfold still. destruct (terminal P u); [lra|].
    right. field. lra.
Qed.

(** * Tasks with rational numbers *)

Definition qadd (x y : Q) : Q := Qred (x + y).
Lemma rationals : sound Q2R 0%Q qadd Qmult (fun x => Qeq_bool x 0).
Proof.
  constructor.
  - apply Q2R_0.
  - intros. unfold qadd. rewrite Q2R_red. apply Q2R_plus.
  - apply Q2R_mult.
  - apply Q2R_zero.
Qed.
Section Computed.
Variables (t : task Q) (c : kind) (rows : table_of Q).
Let E := product Q2R t c.
Let pi : policy E := to_policy Q2R 0%Q t c rows.
Notation qpi := (chance 0%Q rows).
Notation qsum := (total 0%Q qadd).
Notation qgo := (step_of 0%Q qadd Qmult (fun x => Qeq_bool x 0) t c rows).
Variables (vs : list (spot * (Q * Q))).       (* places with v and with a bound on the steps left *)
Definition qv (x : spot) : Q := if ended t (fst (fst x)) then 0%Q else fst (look same_spot vs (0%Q, 0%Q) x).
Definition ql (x : spot) : Q := if ended t (fst (fst x)) then 0%Q else snd (look same_spot vs (0%Q, 0%Q) x).
Definition known (x : spot) : bool :=
  ended t (fst (fst x)) || existsb (fun y => same_spot x (fst y)) vs.
Definition not_neg (q : Q) : bool := Qle_bool 0 q.
Definition sums_to_one {T} (l : list (T * Q)) : bool :=
  forallb (fun y => not_neg (snd y)) l && Qeq_bool (qsum l snd) 1.
Definition check_place (x : spot) : bool :=
  let '(s, m, o) := x in
  ended t s ||
  (listed rows (m, o)
   && forallb (fun b =>
     let pb := qpi (m, o) b in
     Qeq_bool pb 0 || (not_neg pb && forallb (fun y => not_neg (snd y) &&
       forallb (fun z => not_neg (snd z) &&
         known (fst (fst y), after (tacts t) c m (snd b) o (fst b), fst z)) (seen_in t (fst (fst y))))
       (outcomes t s (fst b)))) (choices_of t c)
   && Qeq_bool (qv x) (qgo (fun r y => (r + tgamma t * qv y)%Q) x)
   && Qle_bool (1 + qgo (fun _ y => (tgamma t * ql y)%Q) x)%Q (ql x) && not_neg (ql x)).
Definition check_value (x : Q) : bool :=
  not_neg (tgamma t) && sums_to_one (tmu t) && forallb sums_to_one (tomega t)
  && forallb (forallb sums_to_one) (tp t) && forallb (fun y => sums_to_one (snd y)) rows
  && forallb (fun y => forallb (fun z => known (fst y, start_of c, fst z)) (seen_in t (fst y))) (tmu t)
  && forallb (fun y => check_place (fst y)) vs
  && Qeq_bool x (start_with 0%Q qadd Qmult t c qv).

(** * The program is right *)

Lemma not_neg_R q : not_neg q = true -> 0 <= Q2R q.
Proof. unfold not_neg. intros H. apply Qle_bool_iff, Qle_Rle in H. rewrite Q2R_0 in H. auto. Qed.
Definition known_R (x : state E) : Prop := known x = true.
Hypothesis checked : forallb (fun y => check_place (fst y)) vs = true.
Lemma known_place s m o : known (s, m, o) = true -> ended t s = false ->
  check_place (s, m, o) = true.
Proof.
  unfold known. cbn [fst]. intros H F. rewrite F in H. simpl in H.
  apply existsb_exists in H as ([x u] & I & S). apply same_spot_eq in S. cbn [fst] in S. subst x.
  rewrite forallb_forall in checked. apply (checked _ I).
Qed.
(* what is checked of a place where the episode goes on *)
Lemma place_facts s m o : known (s, m, o) = true -> ended t s = false ->
  (forall a w, In (a, w) (choices_of t c) -> pi (m, o) (a, w) = 0 \/
    (0 <= pi (m, o) (a, w) /\ forall y, In y (outcomes t s a) -> 0 <= Q2R (snd y) /\
       forall z, In z (seen_in t (fst (fst y))) -> 0 <= Q2R (snd z) /\
         known (fst (fst y), after (tacts t) c m w o a, fst z) = true)) /\
  Q2R (qv (s, m, o)) = choose (P := E) pi (m, o) (next (P := E) (fun y => Q2R (qv y)) (s, m, o)) /\
  1 + Q2R (tgamma t) * choose (P := E) pi (m, o)
        (fun b => mean (p E (s, m, o) b) (fun y => Q2R (ql (fst y)))) <= Q2R (ql (s, m, o)) /\
  0 <= Q2R (ql (s, m, o)).
Proof.
  intros K F. pose proof (known_place s m o K F) as C. unfold check_place in C. rewrite F in C.
  cbn [orb] in C. apply andb_prop in C as [C C4]. apply andb_prop in C as [C C3].
  apply andb_prop in C as [C C2]. apply andb_prop in C as [_ C1]. split; [|split; [|split]].
  - intros a w I. rewrite forallb_forall in C1. specialize (C1 (a, w) I). cbn [fst snd] in C1.
    unfold pi, to_policy. apply orb_prop in C1 as [Z|C1]; [left; apply Q2R_zero; auto|right].
    apply andb_prop in C1 as [P C1]. split; [apply not_neg_R; auto|]. intros y Hy.
    rewrite forallb_forall in C1. specialize (C1 y Hy). apply andb_prop in C1 as [Y C1].
    split; [apply not_neg_R; auto|]. intros z Hz. rewrite forallb_forall in C1. specialize (C1 z Hz).
    apply andb_prop in C1 as [Z C1]. split; [apply not_neg_R|]; auto.
  - apply Qeq_bool_iff, Qeq_eqR in C2. etransitivity; [exact C2|].
    apply (step_right _ _ _ _ _ t c rows rationals _ (fun r y => r + Q2R (tgamma t) * Q2R (qv y))).
    intros. rewrite Q2R_plus, Q2R_mult. auto.
  - apply Qle_bool_iff, Qle_Rle in C3. rewrite Q2R_plus, Q2R_1 in C3.
    apply Rle_trans with (2 := C3). apply Rplus_le_compat_l. right.
    rewrite (step_right _ _ _ _ _ t c rows rationals _ (fun _ y => Q2R (tgamma t) * Q2R (ql y)))
      by (intros; apply Q2R_mult).
    rewrite <- choose_scal. apply choose_ext. intros b _. symmetry. apply mean_scal.
  - apply not_neg_R. auto.
Qed.
End Computed.

Theorem check_value_right t c rows vs x : check_value t c rows vs x = true ->
  is_value (P := product Q2R t c) (to_policy Q2R 0%Q t c rows) (Q2R x).
Proof.
  unfold check_value. intros H. apply andb_prop in H as [H HX]. apply andb_prop in H as [H HC].
  apply andb_prop in H as [H HS]. do 4 (apply andb_prop in H as [H _]). apply not_neg_R in H.
  assert (V : is_value (P := (product Q2R t c)) (to_policy Q2R 0%Q t c rows) (mean (mu (product Q2R t c)) (fun y => Q2R (qv t vs y)))).
  { apply (value_on_places (product Q2R t c) (to_policy Q2R 0%Q t c rows) (known_R t c vs) H) with
      (l := fun y => Q2R (ql t vs y)) (B := sum vs (fun y => Rabs (Q2R (fst (snd y))))).
    - intros y Hy. apply product_start in Hy as (s & o & -> & Hs & Ho).
      rewrite forallb_forall in HS. specialize (HS s Hs). rewrite forallb_forall in HS. apply (HS o Ho).
    - intros [[s m] o] K T y [<-|[]]. split; [cbn; lra|]. intros [a w] Hb. cbn [fst].
      destruct (place_facts t c rows vs HC s m o K T) as [A _].
      destruct (A a w Hb) as [Z|[Z B]]; [left; auto|right]. split; auto. intros z Hz.
      apply product_in in Hz as (y & x1 & Hy & Hx1 & -> & ->). destruct (B y Hy) as [B1 B2].
      destruct (B2 x1 Hx1) as [B3 B4]. split; auto. rewrite Rmult_1_r, Rmult_1_r. apply Rmult_le_pos; auto.
    - intros [[s m] o] K. destruct (ended t s) eqn:T.
      { unfold ql. cbn [fst]. rewrite T, Q2R_0. lra. }
      apply (place_facts t c rows vs HC s m o K T).
    - intros [[s m] o] K. unfold still, go. change (terminal (product Q2R t c) (s, m, o)) with (ended t s).
      destruct (ended t s) eqn:T.
      { unfold ql. cbn [fst]. rewrite T, Q2R_0. lra. }
      change (omega (product Q2R t c) (s, m, o)) with (ret (m, o)). rewrite mean_ret.
      apply (place_facts t c rows vs HC s m o K T).
    - intros [[s m] o] K. unfold backup. change (terminal (product Q2R t c) (s, m, o)) with (ended t s).
      destruct (ended t s) eqn:T.
      { unfold qv. cbn [fst]. rewrite T, Q2R_0. auto. }
      change (omega (product Q2R t c) (s, m, o)) with (ret (m, o)). rewrite mean_ret.
      apply (place_facts t c rows vs HC s m o K T).
    - intros [[s m] o] K. unfold still. change (terminal (product Q2R t c) (s, m, o)) with (ended t s).
      unfold qv. cbn [fst]. destruct (ended t s) eqn:T.
      { rewrite Q2R_0, Rabs_R0. lra. }
      rewrite Rmult_1_r.
      assert (0 <= sum vs (fun y => Rabs (Q2R (fst (snd y))))) by (apply sum_nonneg; intros; apply Rabs_pos).
      destruct (look_in same_spot vs (0%Q, 0%Q) (s, m, o)) as [->|[y Hy]].
      + cbn [fst]. rewrite Q2R_0, Rabs_R0. auto.
      + apply (sum_pos_term vs (fun y => Rabs (Q2R (fst (snd y)))) _ ltac:(intros; apply Rabs_pos) Hy). }
  assert (M : mean (mu (product Q2R t c)) (fun y => Q2R (qv t vs y)) = Q2R x).
  { apply Qeq_bool_iff, Qeq_eqR in HX. rewrite HX. symmetry. apply (start_right _ _ _ _ _ t c rationals). auto. }
  rewrite <- M. exact V.
Qed.

(** * What no policy is worth more than *)

Section Bound.
Variables (t : task Q) (vs : list (nat * Q)).       (* states with a value that no action beats *)
Notation P := (to_pomdp Q2R t).
Definition sv (s : nat) : Q := if ended t s then 0%Q else look Nat.eqb vs 0%Q s.
Definition met (s : nat) : bool := ended t s || existsb (fun y => Nat.eqb s (fst y)) vs.
Definition check_state (s : nat) : bool :=
  ended t s ||
  (not_neg (sv s) && forallb (fun a =>
     forallb (fun y => not_neg (snd y) && met (fst (fst y)) && sums_to_one (seen_in t (fst (fst y)))) (outcomes t s a)
     && Qle_bool (total 0%Q qadd (outcomes t s a) (fun y =>
          (snd y * (snd (fst y) + tgamma t * sv (fst (fst y))))%Q)) (sv s)) (seq 0 (tacts t))).
Definition check_bound (x : Q) : bool :=
  not_neg (tgamma t) && forallb (fun y => check_state (fst y)) vs
  && forallb (fun y => not_neg (snd y) && met (fst y) && sums_to_one (seen_in t (fst y))) (tmu t)
  && Qeq_bool x (total 0%Q qadd (tmu t) (fun y => (snd y * sv (fst y))%Q)).
Lemma sums_to_one_dist (l : list (nat * Q)) : sums_to_one l = true -> is_dist (map (with_real Q2R) l).
Proof.
  unfold sums_to_one. intros H. apply andb_prop in H as [H1 H2]. rewrite forallb_forall in H1. split.
  - intros y Hy. apply in_map_iff in Hy as (z & <- & Hz). apply not_neg_R. apply (H1 z Hz).
  - unfold mean. rewrite sum_map. apply Qeq_bool_iff, Qeq_eqR in H2. rewrite Q2R_1 in H2.
    refine (eq_trans _ H2). rewrite (total_sum _ _ _ _ _ rationals). apply sum_ext. intros z. apply Rmult_1_r.
Qed.
Lemma met_state s : forallb (fun y => check_state (fst y)) vs = true -> met s = true -> check_state s = true.
Proof.
  unfold met. intros C H. apply orb_prop in H as [H|H]; [unfold check_state; rewrite H; auto|].
  apply existsb_exists in H as (y & Hy & H). apply Nat.eqb_eq in H. subst s.
  rewrite forallb_forall in C. apply (C y Hy).
Qed.
Lemma sv_pos s : forallb (fun y => check_state (fst y)) vs = true -> met s = true -> 0 <= Q2R (sv s).
Proof.
  intros C H. pose proof (met_state s C H) as S. unfold check_state in S. apply orb_prop in S as [S|S].
  - unfold sv. rewrite S, Q2R_0. lra.
  - apply andb_prop in S as [S _]. apply not_neg_R. auto.
Qed.
Theorem bound_right x : check_bound x = true -> forall (m : memory P) (pi : policy (augment P m)) y,
  is_memory m -> is_policy pi -> is_value pi y -> y <= Q2R x.
Proof.
  unfold check_bound. intros H m pi y M I V. apply andb_prop in H as [H X]. apply andb_prop in H as [H S].
  apply andb_prop in H as [G C]. apply not_neg_R in G.
  assert (B : forall n s z o, met s = true -> vn pi n (s, z, o) <= Q2R (sv s)).
  { induction n as [|n IH]; intros s z o K; cbn [vn]; [apply sv_pos; auto|].
    unfold backup. change (terminal (augment P m) (s, z, o)) with (ended t s).
    destruct (ended t s) eqn:T; [apply sv_pos; auto|].
    change (omega (augment P m) (s, z, o)) with (ret (z, o)). rewrite mean_ret.
    rewrite <- (choose_const pi (z, o) (Q2R (sv s)) I). apply choose_le; auto. intros [a w] Ha.
    pose proof (met_state s C K) as L. unfold check_state in L. rewrite T in L. cbn [orb] in L.
    apply andb_prop in L as [_ L]. rewrite forallb_forall in L. apply in_prod_iff in Ha as [Ha _].
    specialize (L a Ha). apply andb_prop in L as [L1 L2]. rewrite forallb_forall in L1.
    apply Qle_bool_iff, Qle_Rle in L2. apply Rle_trans with (2 := L2).
    rewrite (total_sum _ _ _ _ _ rationals). unfold next.
    change (gamma (augment P m)) with (Q2R (tgamma t)).
    apply Rle_trans with (mean (p P s a) (fun y => mean
      (bind (omega P (fst y)) (fun o' => bind (Gamma m z w o a (snd y) o') (fun x' => ret ((fst y, x', o'), snd y))))
      (fun y => snd y + Q2R (tgamma t) * vn pi n (fst y)))).
    { right. etransitivity; [apply (mean_bind (p P s a))|]. apply mean_ext. intros [s' r]. auto. }
    unfold mean at 1. simpl (p P s a). rewrite sum_map. apply sum_le. intros q Hq.
    specialize (L1 q Hq). apply andb_prop in L1 as [L1 D]. apply andb_prop in L1 as [N K'].
    apply sums_to_one_dist in D. apply not_neg_R in N.
    rewrite Q2R_mult, Q2R_plus, Q2R_mult. cbn [fst snd with_real]. apply Rmult_le_compat_l; auto.
    assert (J : is_dist (bind (map (with_real Q2R) (seen_in t (fst (fst q)))) (fun o' =>
      bind (Gamma m z w o a (Q2R (snd (fst q))) o') (fun x' => ret ((fst (fst q), x', o'), Q2R (snd (fst q))))))).
    { apply is_dist_bind; auto. intros o'. apply is_dist_bind; [apply (Gamma_dist m M)|]. intros; apply is_dist_ret. }
    rewrite <- (mean_const _ (Q2R (snd (fst q)) + Q2R (tgamma t) * Q2R (sv (fst (fst q)))) J).
    apply mean_le_in; auto. intros u Hu. apply in_bind in Hu as (u1 & u2 & _ & Hu & ->).
    apply in_bind in Hu as (u3 & u4 & _ & [<-|[]] & ->). cbn [fst snd].
    apply Rplus_le_compat_l. apply Rmult_le_compat_l; auto. }
  apply (cv_le (value_n pi) (fun _ => Q2R x)); auto; [|apply cv_const].
  intros n. apply Qeq_bool_iff, Qeq_eqR in X. rewrite X, (total_sum _ _ _ _ _ rationals).
  unfold value_n. apply Rle_trans with (mean (mu P) (fun s => mean
    (bind (eta m) (fun x => bind (omega P s) (fun o => ret (s, x, o)))) (vn pi n))).
  { right. apply (mean_bind (mu P)). }
  unfold mean at 1. simpl (mu P). rewrite sum_map. apply sum_le. intros q Hq.
  rewrite forallb_forall in S. specialize (S q Hq). apply andb_prop in S as [S D].
  apply andb_prop in S as [N K]. apply sums_to_one_dist in D. apply not_neg_R in N.
  rewrite Q2R_mult. cbn [fst snd with_real]. apply Rmult_le_compat_l; auto.
  assert (J : is_dist (bind (eta m) (fun x => bind (map (with_real Q2R) (seen_in t (fst q))) (fun o => ret (fst q, x, o))))).
  { apply is_dist_bind; [apply (eta_dist m M)|]. intros z. apply is_dist_bind; auto. intros; apply is_dist_ret. }
  rewrite <- (mean_const _ (Q2R (sv (fst q))) J). apply mean_le_in; auto. intros u Hu.
  apply in_bind in Hu as (u1 & u2 & _ & Hu & ->). apply in_bind in Hu as (u3 & u4 & _ & [<-|[]] & ->).
  cbn [fst snd]. apply B. auto.
Qed.
End Bound.
