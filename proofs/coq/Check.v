(* Certificates with rational numbers: a program that checks what a policy is worth, and the proof
   that it is right about the definitions of `Model.v`. *)
From Coq Require Import Reals Lra Lia List Bool Arith QArith Qreals.
From Remembering Require Import Sums Model TwoSteps Improvement.
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
Theorem value_on_places : is_value pi (mean (mu P) v).
Proof.
  unfold is_value, value_n, mean. apply (cv_sum (mu P) (fun y n => snd y * vn pi n (fst y))).
  intros y Hy. apply cv_scal. pose proof (start_in y Hy) as Ds.
  apply (cv_ext (fun n => v (fst y) - (v (fst y) - vn pi n (fst y)))); [intros; ring|].
  rewrite <- (Rminus_0_r (v (fst y))) at 1. apply (CV_minus (fun _ => v (fst y))); [apply cv_const|].
  apply (cv_squeeze _ (fun n => B * left_after n (fst y))).
  - intros n. apply vn_close; auto.
  - rewrite <- (Rmult_0_r B). apply cv_scal. apply left_fades; auto.
Qed.
End Closed.

(** * Tasks with rational numbers *)

Record qtask := QTask {
  qacts : nat;
  qp : list (list (list (nat * Q * Q)));       (* by state and action: s', r, probability *)
  qomega : list (list (nat * Q));
  qgamma : Q;
  qmu : list (nat * Q);
  qterm : list bool }.
Definition real (y : nat * Q) : nat * R := (fst y, Q2R (snd y)).
Definition outcomes (t : qtask) (s a : nat) : list (nat * Q * Q) := nth a (nth s (qp t) []) [].
Definition seen_in (t : qtask) (s : nat) : list (nat * Q) := nth s (qomega t) [].
Definition to_pomdp (t : qtask) : pomdp :=
  Pomdp nat nat nat (seq 0 (qacts t))
    (fun s a => map (fun y => (real (fst y), Q2R (snd y))) (outcomes t s a))
    (fun s => map real (seen_in t s))
    (Q2R (qgamma t)) (map real (qmu t)) (fun s => nth s (qterm t) true) Nat.eq_dec Nat.eq_dec.

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
Definition to_memory (t : qtask) (c : kind) : memory (to_pomdp t) :=
  det (P := to_pomdp t) (list nat) nat (writes_of c) (fun m w o a => after (qacts t) c m w o a)
    (start_of c) (list_eq_dec Nat.eq_dec) Nat.eq_dec.
Definition product (t : qtask) (c : kind) : pomdp := augment (to_pomdp t) (to_memory t c).

Definition row := (list nat * nat)%type.
Definition spot := (nat * list nat * nat)%type.
Definition same_row (x y : row) : bool :=
  Nat.eqb (snd x) (snd y) && (if list_eq_dec Nat.eq_dec (fst x) (fst y) then true else false).
Definition same_spot (x y : spot) : bool :=
  Nat.eqb (fst (fst x)) (fst (fst y)) && same_row (snd (fst x), snd x) (snd (fst y), snd y).
Definition same_act (x y : nat * nat) : bool := Nat.eqb (fst x) (fst y) && Nat.eqb (snd x) (snd y).
Fixpoint look {T U} (same : T -> T -> bool) (l : list (T * U)) (none : U) (x : T) : U :=
  match l with [] => none | (y, u) :: k => if same x y then u else look same k none x end.
Definition qrows := list (row * list ((nat * nat) * Q)).
Definition qpi (rows : qrows) (o : row) (b : nat * nat) : Q := look same_act (look same_row rows [] o) 0%Q b.
Definition to_policy (t : qtask) (c : kind) (rows : qrows) : policy (product t c) :=
  fun o b => Q2R (qpi rows o b).

(** * The same sums over rationals *)

Fixpoint qsum {T} (l : list T) (f : T -> Q) : Q :=
  match l with [] => 0%Q | x :: k => Qred (f x + qsum k f) end.
Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR. apply Qred_correct. Qed.
Lemma qsum_sum {T} (l : list T) f : Q2R (qsum l f) = sum l (fun x => Q2R (f x)).
Proof.
  induction l; cbn [qsum sum]; [unfold Q2R; simpl; lra|]. rewrite Q2R_red, Q2R_plus, IHl. auto.
Qed.
Section Computed.
Variables (t : qtask) (c : kind) (rows : qrows).
Let E := product t c.
Definition choices_of : list (nat * nat) := list_prod (seq 0 (qacts t)) (writes_of c).
(* one step of the policy from a place, for a function of the outcome's reward and place *)
Definition qgo (f : Q -> spot -> Q) (x : spot) : Q :=
  let '(s, m, o) := x in
  qsum choices_of (fun b =>
    let pb := qpi rows (m, o) b in
    if Qeq_bool pb 0 then 0%Q
    else (pb * qsum (outcomes t s (fst b)) (fun y =>
      snd y * qsum (seen_in t (fst (fst y))) (fun z =>
        snd z * f (snd (fst y)) (fst (fst y), after (qacts t) c m (snd b) o (fst b), fst z))))%Q).

Lemma product_step (f : state E * R -> R) s m o a w :
  mean (p E (s, m, o) (a, w)) f =
  sum (outcomes t s a) (fun y => Q2R (snd y) * sum (seen_in t (fst (fst y))) (fun z =>
    Q2R (snd z) * f ((fst (fst y), after (qacts t) c m w o a, fst z), Q2R (snd (fst y))))).
Proof.
  etransitivity; [apply (mean_bind (p (to_pomdp t) s a))|].
  unfold mean at 1. simpl (p (to_pomdp t) s a). rewrite sum_map. apply sum_ext. intros y.
  simpl fst. simpl snd. f_equal.
  etransitivity; [apply mean_bind|]. unfold mean at 1. simpl (omega (to_pomdp t) _). rewrite sum_map.
  apply sum_ext. intros z. simpl fst. simpl snd. f_equal.
  unfold mean. simpl. ring.
Qed.
Lemma qgo_go (f : Q -> spot -> Q) (g : R -> spot -> R) s m o :
  (forall r x, Q2R (f r x) = g (Q2R r) x) ->
  Q2R (qgo f (s, m, o)) =
  choose (P := E) (to_policy t c rows) (m, o) (fun b => mean (p E (s, m, o) b) (fun y => g (snd y) (fst y))).
Proof.
  intros H. unfold qgo, choose. rewrite qsum_sum.
  apply (sum_ext (T := nat * nat)). intros [a w].
  pose proof (product_step (fun y => g (snd y) (fst y)) s m o a w) as PS.
  refine (eq_trans _ (f_equal (Rmult (to_policy t c rows (m, o) (a, w))) (eq_sym PS))). clear PS.
  unfold to_policy. cbn [fst snd].
  destruct (Qeq_bool (qpi rows (m, o) (a, w)) 0) eqn:Z.
  - apply Qeq_bool_iff, Qeq_eqR in Z. unfold Q2R in Z at 2. simpl in Z.
    rewrite Z. unfold Q2R. simpl. lra.
  - rewrite Q2R_mult. f_equal. rewrite qsum_sum. apply sum_ext. intros y. rewrite Q2R_mult. f_equal.
    rewrite qsum_sum. apply sum_ext. intros z. rewrite Q2R_mult. f_equal. apply H.
Qed.

Variables (vs : list (spot * (Q * Q))).       (* places with v and with a bound on the steps left *)
Definition qv (x : spot) : Q := if nth (fst (fst x)) (qterm t) true then 0%Q else fst (look same_spot vs (0%Q, 0%Q) x).
Definition ql (x : spot) : Q := if nth (fst (fst x)) (qterm t) true then 0%Q else snd (look same_spot vs (0%Q, 0%Q) x).
Definition known (x : spot) : bool :=
  nth (fst (fst x)) (qterm t) true || existsb (fun y => same_spot x (fst y)) vs.
Definition not_neg (q : Q) : bool := Qle_bool 0 q.
Definition sums_to_one {T} (l : list (T * Q)) : bool :=
  forallb (fun y => not_neg (snd y)) l && Qeq_bool (qsum l snd) 1.
Definition check_place (x : spot) : bool :=
  let '(s, m, o) := x in
  nth s (qterm t) true ||
  (forallb (fun b =>
     let pb := qpi rows (m, o) b in
     Qeq_bool pb 0 || (not_neg pb && forallb (fun y => not_neg (snd y) &&
       forallb (fun z => not_neg (snd z) &&
         known (fst (fst y), after (qacts t) c m (snd b) o (fst b), fst z)) (seen_in t (fst (fst y))))
       (outcomes t s (fst b)))) choices_of
   && Qeq_bool (qv x) (qgo (fun r y => (r + qgamma t * qv y)%Q) x)
   && Qle_bool (1 + qgo (fun _ y => (qgamma t * ql y)%Q) x)%Q (ql x) && not_neg (ql x)).
Definition check_value (x : Q) : bool :=
  not_neg (qgamma t) && sums_to_one (qmu t) && forallb sums_to_one (qomega t)
  && forallb (forallb sums_to_one) (qp t) && forallb (fun y => sums_to_one (snd y)) rows
  && forallb (fun y => forallb (fun z => known (fst y, start_of c, fst z)) (seen_in t (fst y))) (qmu t)
  && forallb (fun y => check_place (fst y)) vs
  && Qeq_bool x (qsum (qmu t) (fun y => (snd y * qsum (seen_in t (fst y)) (fun z =>
       (snd z * qv (fst y, start_of c, fst z))%Q))%Q)).

(** * The program is right *)

Lemma same_row_eq x y : same_row x y = true -> x = y.
Proof.
  destruct x as [m o], y as [m' o']. unfold same_row. simpl. intros H. apply andb_prop in H as [H1 H2].
  apply Nat.eqb_eq in H1. destruct (list_eq_dec Nat.eq_dec m m'); [subst; auto|discriminate].
Qed.
Lemma same_spot_eq x y : same_spot x y = true -> x = y.
Proof.
  destruct x as [[s m] o], y as [[s' m'] o']. unfold same_spot. cbn [fst snd]. intros H.
  apply andb_prop in H as [H1 H2]. apply Nat.eqb_eq in H1. apply same_row_eq in H2. congruence.
Qed.
Lemma not_neg_R q : not_neg q = true -> 0 <= Q2R q.
Proof.
  unfold not_neg. intros H. apply Qle_bool_iff, Qle_Rle in H. unfold Q2R in H at 1. simpl in H. lra.
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
Definition known_R (x : state E) : Prop := known x = true.
Lemma known_place s m o : known (s, m, o) = true -> nth s (qterm t) true = false ->
  forallb (fun y => check_place (fst y)) vs = true -> check_place (s, m, o) = true.
Proof.
  unfold known. cbn [fst]. intros H F C. rewrite F in H. simpl in H.
  apply existsb_exists in H as ([x u] & I & S). apply same_spot_eq in S. cbn [fst] in S. subst x.
  rewrite forallb_forall in C. apply (C _ I).
Qed.
Lemma product_in s m o a w z : In z (p E (s, m, o) (a, w)) ->
  exists y x, In y (outcomes t s a) /\ In x (seen_in t (fst (fst y))) /\
    snd z = Q2R (snd y) * (Q2R (snd x) * (1 * 1)) /\
    fst (fst z) = (fst (fst y), after (qacts t) c m w o a, fst x).
Proof.
  intros H. apply in_bind in H as ([[s' r] x] & z1 & H1 & H2 & ->).
  apply in_map_iff in H1 as (y & E1 & Hy). injection E1 as <- <- <-.
  apply in_bind in H2 as (x1 & z2 & H3 & H4 & ->). apply in_map_iff in H3 as (q & <- & Hq).
  apply in_bind in H4 as (x2 & z3 & H5 & H6 & ->). destruct H5 as [<-|[]]. destruct H6 as [<-|[]].
  exists y, q. cbn in *. auto.
Qed.

Theorem check_value_right x : check_value x = true ->
  is_value (P := E) (to_policy t c rows) (Q2R x).
Proof.
  unfold check_value. intros H. repeat (apply andb_prop in H as [H ?]).
  match goal with X : Qeq_bool x _ = true |- _ => rename X into HX end.
  match goal with X : forallb (fun y => check_place (fst y)) vs = true |- _ => rename X into HC end.
  match goal with X : forallb (fun y => forallb _ _) (qmu t) = true |- _ => rename X into HS end.
  apply not_neg_R in H.
  assert (V : is_value (P := E) (to_policy t c rows) (mean (mu E) (fun y => Q2R (qv y)))).
  { apply (value_on_places E (to_policy t c rows) known_R H) with
      (l := fun y => Q2R (ql y)) (B := sum vs (fun y => Rabs (Q2R (fst (snd y))))).
    - intros y Hy. apply in_bind in Hy as (x1 & z1 & H1' & H2' & ->).
      apply in_map_iff in H1' as (q1 & <- & Hq1). apply in_bind in H2' as (x2 & z2 & H3' & H4' & ->).
      destruct H3' as [<-|[]]. apply in_bind in H4' as (x3 & z3 & H5' & H6' & ->).
      apply in_map_iff in H5' as (q3 & <- & Hq3). destruct H6' as [<-|[]].
      rewrite forallb_forall in HS. specialize (HS q1 Hq1). rewrite forallb_forall in HS.
      apply (HS q3 Hq3).
    - intros [[s m] o] K T y [<-|[]]. split; [cbn; lra|]. intros [a w] Hb. cbn [fst].
      pose proof (known_place s m o K T HC) as C. unfold check_place in C.
      change (terminal E (s, m, o)) with (nth s (qterm t) true) in T. rewrite T in C. cbn [orb] in C.
      repeat (apply andb_prop in C as [C ?]). rewrite forallb_forall in C.
      specialize (C (a, w) Hb). cbn [fst snd] in C. unfold to_policy.
      apply orb_prop in C as [C|C].
      + left. apply Qeq_bool_iff, Qeq_eqR in C. etransitivity; [exact C|]. unfold Q2R. simpl. lra.
      + right. apply andb_prop in C as [C1 C2]. split; [apply not_neg_R; auto|].
        intros z Hz. apply product_in in Hz as (y & x1 & Hy & Hx1 & -> & ->).
        rewrite forallb_forall in C2. specialize (C2 y Hy). apply andb_prop in C2 as [C2 C3].
        rewrite forallb_forall in C3. specialize (C3 x1 Hx1). apply andb_prop in C3 as [C3 C4].
        apply not_neg_R in C2, C3. split; auto. rewrite Rmult_1_r, Rmult_1_r. apply Rmult_le_pos; auto.
    - intros [[s m] o] K. unfold ql. cbn [fst].
      destruct (nth s (qterm t) true) eqn:T; [unfold Q2R; simpl; lra|].
      pose proof (known_place s m o K T HC) as C. unfold check_place in C. rewrite T in C. cbn [orb] in C.
      apply andb_prop in C as [_ C]. apply not_neg_R in C. unfold ql in C. cbn [fst] in C. rewrite T in C. auto.
    - intros [[s m] o] K. unfold still, go. change (terminal E (s, m, o)) with (nth s (qterm t) true).
      destruct (nth s (qterm t) true) eqn:T.
      { unfold ql. cbn [fst]. rewrite T. unfold Q2R. simpl. lra. }
      pose proof (known_place s m o K T HC) as C. unfold check_place in C. rewrite T in C. cbn [orb] in C.
      apply andb_prop in C as [C _]. apply andb_prop in C as [_ C]. apply Qle_bool_iff, Qle_Rle in C.
      rewrite Q2R_plus in C.
      rewrite (qgo_go _ (fun _ y => Q2R (qgamma t) * Q2R (ql y))) in C by (intros; apply Q2R_mult).
      apply Rle_trans with (2 := C). unfold Q2R at 1. cbn [Qnum Qden].
      change (omega E (s, m, o)) with (ret (m, o)). rewrite mean_ret.
      change (gamma E) with (Q2R (qgamma t)). rewrite <- choose_scal.
      apply Rplus_le_compat; [lra|]. right. apply choose_ext. intros b _. symmetry. apply mean_scal.
    - intros [[s m] o] K. unfold backup. change (terminal E (s, m, o)) with (nth s (qterm t) true).
      destruct (nth s (qterm t) true) eqn:T.
      { unfold qv. cbn [fst]. rewrite T. unfold Q2R. simpl. lra. }
      pose proof (known_place s m o K T HC) as C. unfold check_place in C. rewrite T in C. cbn [orb] in C.
      apply andb_prop in C as [C _]. apply andb_prop in C as [C _]. apply andb_prop in C as [_ C].
      apply Qeq_bool_iff, Qeq_eqR in C. etransitivity; [exact C|].
      etransitivity; [apply (qgo_go _ (fun r y => r + Q2R (qgamma t) * Q2R (qv y)));
                      intros; rewrite Q2R_plus, Q2R_mult; auto|].
      change (omega E (s, m, o)) with (ret (m, o)). rewrite mean_ret. reflexivity.
    - intros [[s m] o] K. unfold still. change (terminal E (s, m, o)) with (nth s (qterm t) true).
      unfold qv. cbn [fst]. destruct (nth s (qterm t) true) eqn:T.
      { unfold Q2R. simpl. replace (0 * / 1) with 0 by lra. rewrite Rabs_R0. lra. }
      rewrite Rmult_1_r.
      assert (0 <= sum vs (fun y => Rabs (Q2R (fst (snd y))))) by (apply sum_nonneg; intros; apply Rabs_pos).
      destruct (look_in same_spot vs (0%Q, 0%Q) (s, m, o)) as [->|[y Hy]].
      + cbn [fst]. unfold Q2R. simpl. replace (0 * / 1) with 0 by lra. rewrite Rabs_R0. auto.
      + apply (sum_pos_term vs (fun y => Rabs (Q2R (fst (snd y)))) _ ltac:(intros; apply Rabs_pos) Hy). }
  assert (M : mean (mu E) (fun y => Q2R (qv y)) = Q2R x).
  { apply Qeq_bool_iff, Qeq_eqR in HX. rewrite HX, qsum_sum.
    etransitivity; [apply (mean_bind (mu (to_pomdp t)))|]. unfold mean at 1. simpl (mu (to_pomdp t)).
    rewrite sum_map. apply sum_ext. intros y. rewrite Q2R_mult. cbn [real fst snd]. f_equal.
    etransitivity; [apply mean_bind|]. etransitivity; [apply mean_ret|].
    etransitivity; [apply mean_bind|]. unfold mean at 1. simpl (omega (to_pomdp t) _). rewrite sum_map, qsum_sum.
    apply sum_ext. intros z. rewrite Q2R_mult. cbn [real fst snd].
    apply f_equal. exact (mean_ret (T := state E) _ (fun y => Q2R (qv y))). }
  rewrite <- M. exact V.
Qed.
End Computed.
