(* S52.mdp and S52.local* (Section 5.2): what a step towards greedy does to the return, for tasks of
   any size, discounted or ending. *)
From Coq Require Import Reals Lra Lia List Bool Arith.
From Remembering Require Import Sums Model.
Import ListNotations.
Open Scope R_scope.

(** * Limits *)

Lemma cv_const c : Un_cv (fun _ => c) c.
Proof. intros e He. exists 0%nat. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto. Qed.
Lemma cv_ext a b x : (forall n, a n = b n) -> Un_cv a x -> Un_cv b x.
Proof. intros E H e He. destruct (H e He) as [k K]. exists k. intros. rewrite <- E. auto. Qed.
Lemma cv_scal a c x : Un_cv a x -> Un_cv (fun n => c * a n) (c * x).
Proof. intros H. apply (CV_mult (fun _ => c) a c x); auto. apply cv_const. Qed.
Lemma cv_squeeze a b : (forall n, Rabs (a n) <= b n) -> Un_cv b 0 -> Un_cv a 0.
Proof.
  intros H B e He. destruct (B e He) as [k K]. exists k. intros n Hn. specialize (K n Hn).
  unfold R_dist in *. rewrite Rminus_0_r in *. specialize (H n). pose proof (Rle_abs (b n)). lra.
Qed.
Lemma cv_le (a b : nat -> R) x y : (forall n, a n <= b n) -> Un_cv a x -> Un_cv b y -> x <= y.
Proof. intros H A B. exact (Rle_cv_lim H A B). Qed.
Lemma cv_pow x : 0 <= x < 1 -> Un_cv (fun n => x ^ n) 0.
Proof.
  intros H e He. destruct (pow_lt_1_zero x) with (y := e) as [k K]; auto.
  - rewrite Rabs_pos_eq; lra.
  - exists k. intros n Hn. unfold R_dist. rewrite Rminus_0_r. apply K; auto.
Qed.
Lemma cv_sum {T} (l : list T) (a : T -> nat -> R) x : (forall i, In i l -> Un_cv (a i) (x i)) ->
  Un_cv (fun n => sum l (fun i => a i n)) (sum l x).
Proof.
  induction l as [|i l IH]; simpl; intros H; [apply cv_const|].
  apply (CV_plus (a i)); auto.
Qed.
Lemma pow_range x n : 0 <= x <= 1 -> 0 <= x ^ n <= 1.
Proof.
  intros H. split; [apply pow_le; lra|]. replace 1 with (1 ^ n) by apply pow1. apply pow_incr. lra.
Qed.

Section Improvement.
Variable P : pomdp.
Hypothesis HP : is_pomdp P.
Let gam := gamma P.
Implicit Types (pi : policy P) (f v : state P -> R).

Definition alive (s : state P) : R := if terminal P s then 0 else 1.
(* gamma < 1, or episodes end: what is still to come after n steps fades away *)
Definition fades pi : Prop := Un_cv (fun n => gam ^ n * expect pi n alive) 0.
Definition bounded f : Prop := exists B, forall s, Rabs (f s) <= B.
(* Bellman's equation *)
Definition bellman pi v : Prop := forall s, v s = backup pi v s.

(* what g gains in s over pi, if pi follows *)
Definition gain pi g v (s : state P) : R := backup g v s - backup pi v s.

Lemma gain_by_rows pi g v s : gain pi g v s =
  if terminal P s then 0
  else mean (omega P s) (fun o => sum (acts P) (fun a => (g o a - pi o a) * next v s a)).
Proof.
  unfold gain, backup. destruct (terminal P s); [ring|]. rewrite <- mean_minus. apply mean_ext.
  intros o. unfold choose. rewrite <- sum_minus. apply sum_ext. intros; ring.
Qed.
Lemma expect_alive_le pi t : is_policy pi -> expect pi t alive <= 1.
Proof.
  intros H. apply Rle_trans with (expect pi t (fun _ => 1)).
  { apply expect_le; auto. intros s. unfold alive. destruct (terminal P s); lra. }
  induction t; cbn [expect]; [rewrite mean_const; [lra|apply HP]|].
  apply Rle_trans with (2 := IHt). apply expect_le; auto. intros s.
  rewrite go_const by auto. destruct (terminal P s); lra.
Qed.
Lemma expect_alive_pos pi t : is_policy pi -> 0 <= expect pi t alive.
Proof.
  intros H. rewrite <- (expect_zero pi t). apply expect_le; auto.
  intros s. unfold alive. destruct (terminal P s); lra.
Qed.
Lemma expect_abs pi t f B : is_policy pi -> (forall s, Rabs (f s) <= B * alive s) ->
  Rabs (expect pi t f) <= B * expect pi t alive.
Proof.
  intros H L. rewrite <- expect_scal. apply Rabs_le. split.
  - rewrite <- (Ropp_involutive (expect pi t f)). apply Ropp_le_contravar.
    replace (- expect pi t f) with (expect pi t (fun s => (-1) * f s)) by (rewrite expect_scal; ring).
    apply expect_le; auto. intros s. specialize (L s).
    pose proof (Rle_abs (- f s)) as K. rewrite Rabs_Ropp in K. lra.
  - apply expect_le; auto. intros s. specialize (L s). pose proof (Rle_abs (f s)). lra.
Qed.
Lemma expect_abs_one pi t f B : is_policy pi -> (forall s, Rabs (f s) <= B) ->
  Rabs (expect pi t f) <= B.
Proof.
  intros H. revert f. induction t; cbn [expect]; intros f L; [apply mean_abs; auto; apply HP|].
  apply IHt. intros s. unfold go. destruct (terminal P s) eqn:E.
  - rewrite Rabs_R0. apply Rle_trans with (Rabs (f s)); [apply Rabs_pos|auto].
  - apply mean_abs; [apply HP|]. intros o.
    apply Rle_trans with (choose pi o (fun a => B)); [|rewrite choose_const; auto; lra].
    apply Rle_trans with (1 := sum_abs _ _). apply sum_le. intros a Ha.
    rewrite Rabs_mult, (Rabs_pos_eq (pi o a)) by (apply H; auto).
    apply Rmult_le_compat_l; [apply H; auto|]. apply mean_abs; [apply (p_dist P HP); auto|auto].
Qed.
Lemma fades_discounted pi : is_policy pi -> gam < 1 -> fades pi.
Proof.
  intros H G. pose proof (gamma_range P HP) as R. fold gam in R.
  apply (cv_squeeze _ (fun n => gam ^ n)); [|apply cv_pow; lra]. intros n.
  pose proof (expect_alive_pos pi n H). pose proof (expect_alive_le pi n H).
  pose proof (pow_range gam n R). rewrite Rabs_pos_eq by (apply Rmult_le_pos; lra).
  rewrite <- (Rmult_1_r (gam ^ n)) at 2. apply Rmult_le_compat_l; lra.
Qed.
Lemma bellman_terminal pi v s : bellman pi v -> terminal P s = true -> v s = 0.
Proof. intros B E. rewrite B. unfold backup. rewrite E. auto. Qed.
Lemma bellman_abs pi v : bellman pi v -> bounded v -> exists B, forall s, Rabs (v s) <= B * alive s.
Proof.
  intros E [B L]. exists B. intros s. unfold alive. destruct (terminal P s) eqn:T.
  - rewrite (bellman_terminal pi v s), Rabs_R0 by auto. lra.
  - specialize (L s). lra.
Qed.
Lemma fades_bounded pi f B : is_policy pi -> fades pi -> (forall s, Rabs (f s) <= B * alive s) ->
  Un_cv (fun n => gam ^ n * expect pi n f) 0.
Proof.
  intros H F L. apply (cv_squeeze _ (fun n => B * (gam ^ n * expect pi n alive))).
  - intros n. pose proof (gamma_range P HP) as R. pose proof (pow_range gam n R).
    rewrite Rabs_mult, Rabs_pos_eq by lra. pose proof (expect_abs pi n f B H L).
    replace (B * (gam ^ n * expect pi n alive)) with (gam ^ n * (B * expect pi n alive)) by ring.
    apply Rmult_le_compat_l; lra.
  - rewrite <- (Rmult_0_r B). apply cv_scal. auto.
Qed.

(** * The difference of two returns *)

(* a sum over the steps of an episode telescopes *)
Lemma telescope pi f n :
  sumn n (fun t => gam ^ t * expect pi t (fun s => f s - gam * go pi f s))
  = mean (mu P) f - gam ^ n * expect pi n f.
Proof.
  induction n as [|n IH]; [unfold sumn; simpl; ring|].
  rewrite sumn_S, IH, expect_minus, expect_scal. simpl. ring.
Qed.
Fixpoint steps pi f n : state P -> R :=
  match n with O => f | S k => backup pi (steps pi f k) end.
Lemma backup_ext pi f h s : (forall s, f s = h s) -> backup pi f s = backup pi h s.
Proof. intros H. rewrite (backup_go pi f), (backup_go pi h), (go_ext pi f h); auto. Qed.
Lemma steps_shift pi f n s : steps pi f (S n) s = steps pi (backup pi f) n s.
Proof. revert s. induction n; intros s; [reflexivity|]. apply backup_ext. auto. Qed.
Lemma steps_expect pi n : forall f, mean (mu P) (steps pi f n) =
  sumn n (fun t => gam ^ t * expect pi t (backup pi (fun _ => 0))) + gam ^ n * expect pi n f.
Proof.
  induction n as [|n IH]; intros f; [unfold sumn; simpl; ring|].
  rewrite (mean_ext _ _ (steps pi (backup pi f) n)) by (intros; apply steps_shift).
  rewrite IH, sumn_S.
  rewrite (expect_ext pi n (backup pi f) (fun s => backup pi (fun _ => 0) s + gam * go pi f s))
    by (intros; apply backup_go).
  rewrite expect_plus, expect_scal. simpl. ring.
Qed.
(* the return is the sum of what is paid at each time *)
Lemma value_by_time pi n :
  value_n pi n = sumn n (fun t => gam ^ t * expect pi t (backup pi (fun _ => 0))).
Proof.
  unfold value_n. rewrite (mean_ext _ _ (steps pi (fun _ => 0) n)).
  - rewrite steps_expect, expect_zero. ring.
  - intros s. revert s. induction n; intros s; [reflexivity|]. cbn [vn steps]. apply backup_ext. auto.
Qed.

(* J(pi') - J(pi) is the sum over the steps of pi' of what pi' gains there, any size *)
Theorem difference pi pi' v n : bellman pi v ->
  value_n pi' n = mean (mu P) v + sumn n (fun t => gam ^ t * expect pi' t (gain pi pi' v))
                  - gam ^ n * expect pi' n v.
Proof.
  intros B. rewrite value_by_time.
  assert (sumn n (fun t => gam ^ t * expect pi' t (gain pi pi' v)) =
    sumn n (fun t => gam ^ t * expect pi' t (backup pi' (fun _ => 0)))
    - sumn n (fun t => gam ^ t * expect pi' t (fun s => v s - gam * go pi' v s))) as ->.
  { unfold sumn. rewrite <- sum_minus. apply sum_ext. intros t.
    rewrite <- Rmult_minus_distr_l, <- expect_minus. f_equal. apply expect_ext. intros s.
    unfold gain. rewrite (backup_go pi' v), <- (B s). fold gam. ring. }
  rewrite telescope. ring.
Qed.
(* Bellman's equation has one bounded solution where episodes end or gamma < 1: the return *)
Theorem bellman_value pi v : is_policy pi -> fades pi -> bounded v -> bellman pi v ->
  is_value pi (mean (mu P) v).
Proof.
  intros H F L B. destruct (bellman_abs pi v B L) as [K HK].
  apply (cv_ext (fun n => mean (mu P) v - gam ^ n * expect pi n v)).
  - intros n. rewrite (difference pi pi v n B).
    rewrite (sumn_ext n _ (fun _ => 0)).
    + unfold sumn. rewrite sum_const. ring.
    + intros t _. rewrite (expect_ext pi t _ (fun _ => 0)), expect_zero; [ring|].
      intros s. unfold gain. ring.
  - rewrite <- (Rminus_0_r (mean (mu P) v)) at 1.
    apply (CV_minus (fun _ => mean (mu P) v)); [apply cv_const|].
    apply (fades_bounded pi v K); auto.
Qed.
Lemma difference_limit pi pi' v J' : is_policy pi' -> fades pi' -> bounded v -> bellman pi v ->
  is_value pi' J' ->
  Un_cv (fun n => sumn n (fun t => gam ^ t * expect pi' t (gain pi pi' v))) (J' - mean (mu P) v).
Proof.
  intros H F L B V. destruct (bellman_abs pi v B L) as [K HK].
  apply (cv_ext (fun n => value_n pi' n - mean (mu P) v + gam ^ n * expect pi' n v)).
  - intros n. rewrite (difference pi pi' v n B). ring.
  - rewrite <- (Rplus_0_r (J' - mean (mu P) v)). apply CV_plus.
    + apply (CV_minus (value_n pi')); [auto|apply cv_const].
    + apply (fades_bounded pi' v K); auto.
Qed.
Lemma value_unique pi x y : is_value pi x -> is_value pi y -> x = y.
Proof. apply UL_sequence. Qed.

(** * Fully observed tasks *)

(* each state has an observation of its own *)
Definition observed (see : state P -> obs P) : Prop :=
  (forall s, omega P s = ret (see s)) /\ (forall s s', see s = see s' -> s = s').

Lemma q_of_state see z pi v s a x : observed see -> is_q z pi v (see s) a x -> x = next v s a.
Proof.
  intros [W I] (d & D & V & N).
  assert (d * x = d * next v s a) as E.
  { apply (UL_sequence (fun n => behind_n z pi n (see s) (fun s => next v s a))); auto.
    apply (cv_ext (fun n => visits_n z pi n (see s) * next v s a)).
    - intros n. unfold visits_n, behind_n, sumn. rewrite <- sum_scal_r. apply sum_ext. intros t.
      rewrite Rmult_assoc. f_equal. rewrite Rmult_comm, <- expect_scal. apply expect_ext. intros s'.
      unfold sees. destruct (terminal P s'); [ring|]. rewrite W, prob_ret.
      destruct (obs_dec P (see s') (see s)) as [E|E]; [|ring]. apply I in E as ->. ring.
    - apply (CV_mult _ (fun _ => next v s a)); [auto|apply cv_const]. }
  apply Rmult_eq_reg_l with d; lra.
Qed.
(* each row either stays as it is or moves by eps towards an action that is greedy on q *)
Definition towards_greedy (z eps : R) pi v pi' : Prop := forall o,
  (forall a, pi' o a = pi o a) \/
  exists g, In g (acts P) /\
    (forall a, In a (acts P) -> exists x y, is_q z pi v o a x /\ is_q z pi v o g y /\ x <= y) /\
    forall a, pi' o a = (1 - eps) * pi o a + eps * (if act_dec P a g then 1 else 0).

(* S52.mdp: in a fully observed task a step of any size does not decrease the return *)
Theorem any_step_helps see z eps pi pi' v J J' :
  observed see -> is_policy pi -> is_policy pi' -> 0 <= eps <= 1 ->
  fades pi -> fades pi' -> bounded v -> bellman pi v ->
  towards_greedy z eps pi v pi' -> is_value pi J -> is_value pi' J' -> J <= J'.
Proof.
  intros O H H' E F F' L B S V V'.
  rewrite (value_unique pi J (mean (mu P) v)) by (auto; apply bellman_value; auto).
  cut (0 <= J' - mean (mu P) v); [lra|].
  apply (cv_le (fun _ => 0) (fun n => sumn n (fun t => gam ^ t * expect pi' t (gain pi pi' v))));
    [|apply cv_const|apply difference_limit; auto].
  intros n. apply sum_nonneg. intros t _.
  apply Rmult_le_pos; [apply pow_range, HP|]. rewrite <- (expect_zero pi' t).
  apply expect_le; auto. intros s. rewrite gain_by_rows. destruct (terminal P s); [lra|].
  destruct O as [W I]. rewrite W, mean_ret. destruct (S (see s)) as [K|(g & Ig & G & K)].
  - apply sum_nonneg. intros a _. rewrite K. lra.
  - rewrite (sum_ext _ _ (fun a => eps * (if act_dec P a g then next v s a else 0)
                                   - eps * (pi (see s) a * next v s a))).
    2:{ intros a. rewrite K. destruct (act_dec P a g); ring. }
    rewrite sum_minus, !sum_scal, (sum_if (act_dec P) (acts P) g) by (auto; apply HP).
    rewrite <- Rmult_minus_distr_l. apply Rmult_le_pos; [lra|].
    assert (choose pi (see s) (next v s) <= choose pi (see s) (fun _ => next v s g)) as C.
    { apply choose_le; auto. intros a Ia. destruct (G a Ia) as (x & y & X & Y & XY).
      apply (q_of_state see) in X, Y; try (split; auto). lra. }
    rewrite choose_const in C by auto. unfold choose in C. lra.
Qed.

(** * Tasks whose states look alike: small steps *)

Lemma go_mix eps pi g f s : go (mix eps pi g) f s = (1 - eps) * go pi f s + eps * go g f s.
Proof.
  unfold go. destruct (terminal P s); [ring|]. rewrite <- !mean_scal, <- mean_plus.
  apply mean_ext. intros o. apply choose_mix.
Qed.
Lemma gain_mix eps pi g v s : gain pi (mix eps pi g) v s = eps * gain pi g v s.
Proof.
  unfold gain, backup. destruct (terminal P s); [ring|].
  rewrite (mean_ext _ _ (fun o => (1 - eps) * choose pi o (next v s) + eps * choose g o (next v s)))
    by (intros; apply choose_mix).
  rewrite mean_plus, !mean_scal. ring.
Qed.
Lemma go_abs pi f B s : is_policy pi -> (forall s, Rabs (f s) <= B) -> Rabs (go pi f s) <= B * alive s.
Proof.
  intros H L. unfold alive, go. destruct (terminal P s) eqn:E; [rewrite Rabs_R0; lra|].
  rewrite Rmult_1_r. apply mean_abs; [apply HP|]. intros o.
  apply Rle_trans with (choose pi o (fun a => B)); [|rewrite choose_const; auto; lra].
  apply Rle_trans with (1 := sum_abs _ _). apply sum_le. intros a Ha.
  rewrite Rabs_mult, (Rabs_pos_eq (pi o a)) by (apply H; auto).
  apply Rmult_le_compat_l; [apply H; auto|]. apply mean_abs; [apply (p_dist P HP); auto|auto].
Qed.
(* a step eps changes what is met at time t by at most 2 t eps *)
Lemma expect_mix eps pi g B t : is_policy pi -> is_policy g -> 0 <= eps <= 1 -> 0 <= B ->
  forall f, (forall s, Rabs (f s) <= B) ->
  Rabs (expect (mix eps pi g) t f - expect pi t f) <= 2 * INR t * eps * B.
Proof.
  intros H G E HB. assert (M : is_policy (mix eps pi g)) by (apply is_policy_mix; auto).
  induction t as [|t IH]; intros f L.
  - cbn [expect]. rewrite Rminus_diag_eq, Rabs_R0 by auto. simpl INR. lra.
  - cbn [expect].
    rewrite (expect_ext _ _ (go (mix eps pi g) f)
               (fun s => go pi f s + eps * (go g f s - go pi f s))) by (intros; rewrite go_mix; ring).
    rewrite expect_plus, expect_scal.
    replace (expect (mix eps pi g) t (go pi f) + eps * expect (mix eps pi g) t (fun s => go g f s - go pi f s)
             - expect pi t (go pi f))
      with ((expect (mix eps pi g) t (go pi f) - expect pi t (go pi f))
            + eps * expect (mix eps pi g) t (fun s => go g f s - go pi f s)) by ring.
    assert (forall pi0, is_policy pi0 -> forall s, Rabs (go pi0 f s) <= B) as LG.
    { intros pi0 H0 s. apply Rle_trans with (1 := go_abs pi0 f B s H0 L).
      unfold alive. destruct (terminal P s); lra. }
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite S_INR.
    assert (Rabs (expect (mix eps pi g) t (fun s => go g f s - go pi f s)) <= 2 * B) as K.
    { apply expect_abs_one; auto. intros s. pose proof (LG g G s). pose proof (LG pi H s).
      unfold Rminus. apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra. }
    rewrite Rabs_mult, (Rabs_pos_eq eps) by lra.
    specialize (IH (go pi f) (LG pi H)).
    assert (eps * Rabs (expect (mix eps pi g) t (fun s => go g f s - go pi f s)) <= eps * (2 * B))
      by (apply Rmult_le_compat_l; lra). lra.
Qed.
Lemma sum_t_pow n : 0 <= gam < 1 ->
  sumn n (fun t => gam ^ t * INR t) <= gam / (1 - gam) ^ 2.
Proof.
  intros R.
  assert (sumn n (fun t => gam ^ t * INR t) * (1 - gam) ^ 2
          = gam - INR n * gam ^ n + (INR n - 1) * gam ^ S n) as E.
  { induction n as [|n IH]; [unfold sumn; simpl; ring|].
    rewrite sumn_S, Rmult_plus_distr_r, IH, S_INR. simpl. ring. }
  apply Rmult_le_reg_r with ((1 - gam) ^ 2); [apply pow_lt; lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (apply pow_nonzero; lra). rewrite E.
  pose proof (pow_range gam n ltac:(lra)) as Q. pose proof (pos_INR n).
  assert (INR n * gam ^ S n <= INR n * gam ^ n).
  { apply Rmult_le_compat_l; auto. simpl. rewrite <- (Rmult_1_l (gam ^ n)) at 2.
    apply Rmult_le_compat_r; lra. }
  assert (0 <= gam ^ S n) by (apply pow_le; lra). lra.
Qed.

(* S52.local*, gamma < 1: J' = J + eps G + rest, |rest| <= 2 eps^2 gamma A / (1 - gamma)^2,
   where A bounds what g gains in a state and G is the discounted sum of these gains under pi *)
Theorem small_step_discounted eps pi g v A G J J' : gam < 1 ->
  is_policy pi -> is_policy g -> 0 <= eps <= 1 -> bounded v -> bellman pi v ->
  (forall s, Rabs (gain pi g v s) <= A) ->
  Un_cv (fun n => sumn n (fun t => gam ^ t * expect pi t (gain pi g v))) G ->
  is_value pi J -> is_value (mix eps pi g) J' ->
  Rabs (J' - J - eps * G) <= 2 * eps ^ 2 * gam * A / (1 - gam) ^ 2.
Proof.
  intros Hg H Gp E L B HA HG V V'. pose proof (gamma_range P HP) as R. fold gam in R.
  assert (M : is_policy (mix eps pi g)) by (apply is_policy_mix; auto).
  assert (A0 : 0 <= A).
  { destruct (mu P) as [|y l] eqn:Emu.
    - exfalso. destruct (mu_dist P HP) as [_ X]. rewrite Emu in X. unfold mean in X. simpl in X. lra.
    - apply Rle_trans with (2 := HA (fst y)). apply Rabs_pos. }
  rewrite (value_unique pi J (mean (mu P) v))
    by (auto; apply bellman_value; auto; apply fades_discounted; auto).
  set (D := fun n => sumn n (fun t => gam ^ t * expect (mix eps pi g) t (gain pi (mix eps pi g) v))
                     - eps * sumn n (fun t => gam ^ t * expect pi t (gain pi g v))).
  assert (C : Un_cv D (J' - mean (mu P) v - eps * G)).
  { apply CV_minus; [|apply cv_scal; auto].
    apply difference_limit; auto. apply fades_discounted; auto. }
  set (bound := 2 * eps ^ 2 * gam * A / (1 - gam) ^ 2).
  assert (K : forall n, Rabs (D n) <= bound).
  { intros n. unfold D, sumn. rewrite <- sum_scal, <- sum_minus.
    apply Rle_trans with (1 := sum_abs _ _).
    apply Rle_trans with (2 * eps ^ 2 * A * sumn n (fun t => gam ^ t * INR t)).
    - unfold sumn. rewrite <- sum_scal. apply sum_le. intros t _.
      rewrite (expect_ext (mix eps pi g) t _ (fun s => eps * gain pi g v s)) by (intros; apply gain_mix).
      rewrite expect_scal.
      replace (gam ^ t * (eps * expect (mix eps pi g) t (gain pi g v)) - eps * (gam ^ t * expect pi t (gain pi g v)))
        with (gam ^ t * eps * (expect (mix eps pi g) t (gain pi g v) - expect pi t (gain pi g v))) by ring.
      pose proof (pow_range gam t R) as Q.
      rewrite Rabs_mult, (Rabs_pos_eq (gam ^ t * eps)) by (apply Rmult_le_pos; lra).
      replace (2 * eps ^ 2 * A * (gam ^ t * INR t)) with (gam ^ t * eps * (2 * INR t * eps * A)) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. apply expect_mix; auto.
    - unfold bound. replace (2 * eps ^ 2 * gam * A / (1 - gam) ^ 2)
        with (2 * eps ^ 2 * A * (gam / (1 - gam) ^ 2)) by (unfold Rdiv; ring).
      apply Rmult_le_compat_l; [|apply sum_t_pow; lra].
      apply Rmult_le_pos; auto. pose proof (pow2_ge_0 eps). lra. }
  apply Rabs_le. split.
  - apply (cv_le (fun _ => - bound) D); [|apply cv_const|auto].
    intros n. specialize (K n). pose proof (Rle_abs (- D n)) as X. rewrite Rabs_Ropp in X. lra.
  - apply (cv_le D (fun _ => bound)); [|auto|apply cv_const].
    intros n. specialize (K n). pose proof (Rle_abs (D n)). lra.
Qed.
(* so every step below the bound increases the return *)
Corollary small_step_discounted_gains eps pi g v A G J J' : gam < 1 ->
  is_policy pi -> is_policy g -> 0 < eps <= 1 -> bounded v -> bellman pi v ->
  (forall s, Rabs (gain pi g v s) <= A) ->
  Un_cv (fun n => sumn n (fun t => gam ^ t * expect pi t (gain pi g v))) G ->
  is_value pi J -> is_value (mix eps pi g) J' ->
  2 * gam * A * eps < G * (1 - gam) ^ 2 -> J < J'.
Proof.
  intros Hg H Gp E L B HA HG V V' S.
  pose proof (small_step_discounted eps pi g v A G J J' Hg H Gp ltac:(lra) L B HA HG V V') as K.
  assert (0 < (1 - gam) ^ 2) by (apply pow_lt; lra).
  assert (2 * eps ^ 2 * gam * A / (1 - gam) ^ 2 < eps * G).
  { apply Rmult_lt_reg_r with ((1 - gam) ^ 2); auto. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    replace (2 * eps ^ 2 * gam * A) with (eps * (2 * gam * A * eps)) by ring.
    replace (eps * G * (1 - gam) ^ 2) with (eps * (G * (1 - gam) ^ 2)) by ring.
    apply Rmult_lt_compat_l; lra. }
  pose proof (Rle_abs (- (J' - J - eps * G))) as X. rewrite Rabs_Ropp in X. lra.
Qed.

(* S52.local*, episodes that end (gamma = 1, or any): l is the mean length from a state, u what the
   gains are worth from a state under pi *)
Lemma summable_fades (a : nat -> R) C : (forall n, 0 <= a n) -> (forall n, a (S n) <= a n) ->
  (forall n, sumn n a <= C) -> Un_cv a 0.
Proof.
  intros A0 D S.
  assert (DD : forall n t, (t <= n)%nat -> a n <= a t).
  { intros n t. induction 1; [lra|]. apply Rle_trans with (a m); auto. }
  assert (K : forall n, INR n * a n <= C).
  { intros n. apply Rle_trans with (2 := S n). unfold sumn.
    rewrite <- (seq_length n 0) at 1. rewrite <- sum_const. apply sum_le. intros t Ht.
    apply in_seq in Ht. apply DD. lia. }
  assert (C0 : 0 <= C) by (specialize (K 0%nat); simpl in K; lra).
  intros e He. destruct (archimed_cor1 (e / (C + 1))) as (n & Hn & Hn0).
  { apply Rdiv_lt_0_compat; lra. }
  exists n. intros m Hm.
  unfold R_dist. rewrite Rminus_0_r, Rabs_pos_eq by auto.
  apply Rle_lt_trans with (a n); [apply DD; lia|].
  assert (N0 : 0 < INR n) by (apply lt_0_INR; auto).
  assert (a n <= (C + 1) * / INR n).
  { apply Rmult_le_reg_l with (INR n); auto. specialize (K n).
    replace (INR n * ((C + 1) * / INR n)) with (C + 1) by (field; lra). lra. }
  assert ((C + 1) * / INR n < (C + 1) * (e / (C + 1))) by (apply Rmult_lt_compat_l; lra).
  replace ((C + 1) * (e / (C + 1))) with e in * by (field; lra). lra.
Qed.
Lemma lengths_fade pi C : is_policy pi ->
  (forall n, sumn n (fun t => gam ^ t * expect pi t alive) <= C) -> fades pi.
Proof.
  intros H S. pose proof (gamma_range P HP) as R. fold gam in R.
  apply (summable_fades _ C); auto.
  - intros n. apply Rmult_le_pos; [apply pow_range; auto|apply expect_alive_pos; auto].
  - intros n. cbn [expect]. simpl pow. rewrite (Rmult_comm gam), Rmult_assoc.
    apply Rmult_le_compat_l; [apply pow_range; auto|].
    apply Rle_trans with (1 * expect pi n (go pi alive)).
    + apply Rmult_le_compat_r; [|lra]. rewrite <- (expect_zero pi n). apply expect_le; auto.
      intros s. apply Rle_trans with (go pi (fun _ => 0) s).
      { rewrite go_const by auto. destruct (terminal P s); lra. }
      apply go_le; auto. intros s'. unfold alive. destruct (terminal P s'); lra.
    + rewrite Rmult_1_l. apply expect_le; auto. intros s.
      apply Rle_trans with (go pi (fun _ => 1) s).
      * apply go_le; auto. intros s'. unfold alive. destruct (terminal P s'); lra.
      * rewrite go_const by auto. unfold alive. destruct (terminal P s); lra.
Qed.
Definition is_length pi l : Prop :=
  (forall s, 0 <= l s) /\ forall s, l s = alive s + gam * go pi l s.
Lemma length_sum pi l n : is_policy pi -> is_length pi l ->
  sumn n (fun t => gam ^ t * expect pi t alive) <= mean (mu P) l.
Proof.
  intros H [L0 L]. pose proof (gamma_range P HP) as R. fold gam in R.
  rewrite (sumn_ext n _ (fun t => gam ^ t * expect pi t (fun s => l s - gam * go pi l s))).
  - rewrite telescope. cut (0 <= gam ^ n * expect pi n l); [lra|].
    apply Rmult_le_pos; [apply pow_range; auto|]. rewrite <- (expect_zero pi n). apply expect_le; auto.
  - intros t _. f_equal. apply expect_ext. intros s. rewrite (L s) at 1. ring.
Qed.
Theorem small_step_ending eps pi g v l u Lmax U J J' :
  is_policy pi -> is_policy g -> 0 <= eps <= 1 -> bounded v -> bellman pi v ->
  is_length pi l -> (forall s, l s <= Lmax) -> eps * Lmax <= 1 / 2 ->
  (forall s, u s = gain pi g v s + gam * go pi u s) -> (forall s, Rabs (u s) <= U) ->
  is_value pi J -> is_value (mix eps pi g) J' ->
  Rabs (J' - J - eps * mean (mu P) u) <= 4 * eps ^ 2 * mean (mu P) l * U.
Proof.
  intros H Gp E Lv B HL LM Small Eu HU V V'. pose proof (gamma_range P HP) as R. fold gam in R.
  set (pi' := mix eps pi g) in *. set (N := mean (mu P) l). set (G := mean (mu P) u).
  assert (M : is_policy pi') by (apply is_policy_mix; auto).
  set (N' := fun n => sumn n (fun t => gam ^ t * expect pi' t alive)).
  assert (U0 : 0 <= U).
  { destruct (mu P) as [|y k] eqn:Emu.
    - exfalso. destruct (mu_dist P HP) as [_ X]. rewrite Emu in X. unfold mean in X. simpl in X. lra.
    - apply Rle_trans with (2 := HU (fst y)). apply Rabs_pos. }
  (* episodes are at most twice as long *)
  assert (Twice : forall n, N' n <= 2 * N).
  { intros n. destruct HL as [L0 L].
    assert (X : (1 - eps * Lmax) * N' n <= N).
    { apply Rle_trans with (sumn n (fun t => gam ^ t * expect pi' t (fun s => l s - gam * go pi' l s))).
      - unfold N', sumn. rewrite <- sum_scal. apply sum_le. intros t _.
        rewrite <- (Rmult_comm (expect pi' t alive)), <- Rmult_assoc, (Rmult_comm _ (gam ^ t)).
        apply Rmult_le_compat_l; [apply pow_range; auto|]. rewrite <- expect_scal.
        apply expect_le; auto. intros s. unfold pi'. rewrite go_mix, (L s).
        assert (0 <= go pi l s).
        { apply Rle_trans with (go pi (fun _ => 0) s); [rewrite go_const by auto; destruct (terminal P s); lra|].
          apply go_le; auto. }
        assert (go g l s <= Lmax * alive s).
        { apply Rle_trans with (go g (fun _ => Lmax) s); [apply go_le; auto|].
          rewrite go_const by auto. unfold alive. destruct (terminal P s); lra. }
        assert (0 <= go g l s).
        { apply Rle_trans with (go g (fun _ => 0) s); [rewrite go_const by auto; destruct (terminal P s); lra|].
          apply go_le; auto. }
        assert (gam * (eps * go g l s) <= eps * (Lmax * alive s)).
        { apply Rle_trans with (1 * (eps * go g l s)).
          - apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra].
          - rewrite Rmult_1_l. apply Rmult_le_compat_l; lra. }
        assert (0 <= gam * (eps * go pi l s)) by (repeat apply Rmult_le_pos; lra). lra.
      - rewrite telescope. cut (0 <= gam ^ n * expect pi' n l); [unfold N; lra|].
        apply Rmult_le_pos; [apply pow_range; auto|]. rewrite <- (expect_zero pi' n).
        apply expect_le; auto. }
    assert (0 <= N' n).
    { apply sum_nonneg. intros t _. apply Rmult_le_pos; [apply pow_range; auto|apply expect_alive_pos; auto]. }
    assert (1 / 2 * N' n <= (1 - eps * Lmax) * N' n) by (apply Rmult_le_compat_r; lra). lra. }
  assert (F' : fades pi') by (apply (lengths_fade pi' (2 * N)); auto).
  assert (F : fades pi) by (apply (lengths_fade pi N); auto; intros; apply length_sum; auto).
  rewrite (value_unique pi J (mean (mu P) v)) by (auto; apply bellman_value; auto).
  assert (ut : forall s, Rabs (u s) <= U * alive s).
  { intros s. unfold alive. destruct (terminal P s) eqn:T; [|specialize (HU s); lra].
    rewrite Eu, gain_by_rows. unfold go. rewrite T. rewrite Rmult_0_r, Rplus_0_r, Rabs_R0. lra. }
  set (D := fun n => sumn n (fun t => gam ^ t * expect pi' t (gain pi pi' v))
                     - eps * (G - gam ^ n * expect pi' n u)).
  assert (C : Un_cv D (J' - mean (mu P) v - eps * G)).
  { apply CV_minus; [apply difference_limit; auto|]. apply cv_scal.
    rewrite <- (Rminus_0_r G) at 1. apply (CV_minus (fun _ => G)); [apply cv_const|].
    apply (fades_bounded pi' u U); auto. }
  assert (K : forall n, Rabs (D n) <= 4 * eps ^ 2 * N * U).
  { intros n. unfold D, G. rewrite <- telescope.
    assert (sumn n (fun t => gam ^ t * expect pi' t (gain pi pi' v))
      - eps * sumn n (fun t => gam ^ t * expect pi' t (fun s => u s - gam * go pi' u s))
      = sumn n (fun t => gam ^ t * (eps ^ 2 * expect pi' t (fun s => gam * (go g u s - go pi u s))))) as ->.
    { unfold sumn. rewrite <- sum_scal, <- sum_minus. apply sum_ext. intros t.
      replace (eps * (gam ^ t * expect pi' t (fun s => u s - gam * go pi' u s)))
        with (gam ^ t * (eps * expect pi' t (fun s => u s - gam * go pi' u s))) by ring.
      rewrite <- Rmult_minus_distr_l. f_equal. rewrite <- !expect_scal, <- expect_minus.
      apply expect_ext. intros s. unfold pi'. rewrite gain_mix, go_mix, (Eu s). ring. }
    apply Rle_trans with (1 := sum_abs _ _).
    apply Rle_trans with (2 * eps ^ 2 * U * N' n).
    - unfold N', sumn. rewrite <- sum_scal. apply sum_le. intros t _.
      pose proof (pow_range gam t R). pose proof (pow2_ge_0 eps).
      rewrite Rabs_mult, Rabs_mult, (Rabs_pos_eq (gam ^ t)), (Rabs_pos_eq (eps ^ 2)) by lra.
      replace (2 * eps ^ 2 * U * (gam ^ t * expect pi' t alive))
        with (gam ^ t * (eps ^ 2 * (2 * U * expect pi' t alive))) by ring.
      apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [lra|].
      apply expect_abs; auto. intros s.
      pose proof (go_abs g u U s Gp HU). pose proof (go_abs pi u U s H HU).
      rewrite Rabs_mult, (Rabs_pos_eq gam) by lra.
      apply Rle_trans with (1 * Rabs (go g u s - go pi u s)).
      { apply Rmult_le_compat_r; [apply Rabs_pos|lra]. }
      rewrite Rmult_1_l. unfold Rminus. apply Rle_trans with (1 := Rabs_triang _ _).
      rewrite Rabs_Ropp. lra.
    - replace (4 * eps ^ 2 * N * U) with (2 * eps ^ 2 * U * (2 * N)) by ring.
      apply Rmult_le_compat_l; auto. pose proof (pow2_ge_0 eps).
      apply Rmult_le_pos; lra. }
  apply Rabs_le. split.
  - apply (cv_le (fun _ => - (4 * eps ^ 2 * N * U)) D); [|apply cv_const|auto].
    intros n. specialize (K n). pose proof (Rle_abs (- D n)) as X. rewrite Rabs_Ropp in X. lra.
  - apply (cv_le D (fun _ => 4 * eps ^ 2 * N * U)); [|auto|apply cv_const].
    intros n. specialize (K n). pose proof (Rle_abs (D n)). lra.
Qed.
Corollary small_step_ending_gains eps pi g v l u Lmax U J J' :
  is_policy pi -> is_policy g -> 0 < eps <= 1 -> bounded v -> bellman pi v ->
  is_length pi l -> (forall s, l s <= Lmax) -> eps * Lmax <= 1 / 2 ->
  (forall s, u s = gain pi g v s + gam * go pi u s) -> (forall s, Rabs (u s) <= U) ->
  is_value pi J -> is_value (mix eps pi g) J' ->
  4 * eps * mean (mu P) l * U < mean (mu P) u -> J < J'.
Proof.
  intros H Gp E Lv B HL LM Small Eu HU V V' S.
  pose proof (small_step_ending eps pi g v l u Lmax U J J' H Gp ltac:(lra) Lv B HL LM Small Eu HU V V') as K.
  assert (eps * (4 * eps * mean (mu P) l * U) < eps * mean (mu P) u) by (apply Rmult_lt_compat_l; lra).
  pose proof (Rle_abs (- (J' - J - eps * mean (mu P) u))) as X. rewrite Rabs_Ropp in X. lra.
Qed.

(** * The rate by rows *)

Lemma expect_sum {I} pi t (l : list I) (f : I -> state P -> R) :
  expect pi t (fun s => sum l (fun i => f i s)) = sum l (fun i => expect pi t (f i)).
Proof.
  induction l as [|i l IH]; cbn [sum]; [apply expect_zero|]. rewrite expect_plus, IH. auto.
Qed.
Section Rows.
Variables (l : list (obs P)) (pi : policy P) (v : state P -> R).
Variables (d : obs P -> R) (Q : obs P -> act P -> R).
Hypothesis Hl : NoDup l.
Hypothesis Hall : forall s y, In y (omega P s) -> In (fst y) l.
(* d(o) are the discounted visits of o and Q(o, a) the q-values; of rows without visits d(o) = 0 *)
Hypothesis Hd : forall o, In o l -> Un_cv (fun n => visits_n gam pi n o) (d o).
Hypothesis HQ : forall o a, In o l -> In a (acts P) ->
  Un_cv (fun n => behind_n gam pi n o (fun s => next v s a)) (d o * Q o a).

(* S52.local*: the rate G is the sum over rows of d(o) times what g gains there in q(o, .) *)
Theorem rate_by_rows (g : policy P) :
  Un_cv (fun n => sumn n (fun t => gam ^ t * expect pi t (gain pi g v)))
        (sum l (fun o => d o * sum (acts P) (fun a => (g o a - pi o a) * Q o a))).
Proof.
  apply (cv_ext (fun n => sum l (fun o => sum (acts P) (fun a =>
           (g o a - pi o a) * behind_n gam pi n o (fun s => next v s a))))).
  - intros n. unfold behind_n.
    rewrite (sum_ext l _ (fun o => sumn n (fun t => sum (acts P) (fun a =>
      gam ^ t * ((g o a - pi o a) * expect pi t (fun s => sees s o * next v s a)))))).
    + unfold sumn. rewrite sum_swap. apply sum_ext. intros t.
      rewrite (expect_ext pi t (gain pi g v) (fun s => sum l (fun o => sum (acts P) (fun a =>
        (g o a - pi o a) * (sees s o * next v s a))))).
      * rewrite expect_sum, <- sum_scal. apply sum_ext. intros o.
        rewrite expect_sum, <- sum_scal. apply sum_ext. intros a. rewrite expect_scal. auto.
      * intros s. rewrite gain_by_rows. unfold sees. destruct (terminal P s).
        -- rewrite sum_zero; auto. intros o _. apply sum_zero. intros; ring.
        -- rewrite (mean_prob (obs_dec P) _ l) by (auto; apply Hall). apply sum_ext. intros o.
           rewrite <- sum_scal. apply sum_ext. intros; ring.
    + intros o. unfold sumn. rewrite sum_swap. apply sum_ext. intros a.
      rewrite <- sum_scal. apply sum_ext. intros t. ring.
  - apply cv_sum. intros o Ho. rewrite <- sum_scal.
    rewrite (sum_ext (acts P) _ (fun a => (g o a - pi o a) * (d o * Q o a))) by (intros; ring).
    apply cv_sum. intros a Ha. apply cv_scal. auto.
Qed.
Lemma visits_nonneg o : is_policy pi -> In o l -> 0 <= d o.
Proof.
  intros H Ho. apply (cv_le (fun _ => 0) (fun n => visits_n gam pi n o)); [|apply cv_const|auto].
  intros n. apply sum_nonneg. intros t _. apply Rmult_le_pos; [apply pow_range, HP|].
  rewrite <- (expect_zero pi t). apply expect_le; auto. intros s. unfold sees.
  destruct (terminal P s); [lra|]. apply prob_nonneg. apply HP.
Qed.
(* towards greedy it is at least d(o) pi(a|o) (max q(o, .) - q(o, a)), for every row and action; so
   it is positive unless pi takes best actions only wherever it goes *)
Theorem greedy_rate_positive (g : obs P -> act P) o a : is_policy pi ->
  (forall o, In (g o) (acts P)) ->
  (forall o b, In o l -> 0 < d o -> In b (acts P) -> Q o b <= Q o (g o)) ->
  In o l -> In a (acts P) ->
  d o * (pi o a * (Q o (g o) - Q o a))
  <= sum l (fun o => d o * sum (acts P) (fun a => (one_hot g o a - pi o a) * Q o a)).
Proof.
  intros H Ig Best Ho Ha.
  assert (X : forall o, In o l -> forall a, In a (acts P) ->
     d o * (pi o a * (Q o (g o) - Q o a)) <=
     d o * sum (acts P) (fun a => (one_hot g o a - pi o a) * Q o a) /\
     0 <= d o * (pi o a * (Q o (g o) - Q o a))).
  { clear o a Ho Ha. intros o Ho a Ha. pose proof (visits_nonneg o H Ho) as D.
    assert (E : sum (acts P) (fun a => (one_hot g o a - pi o a) * Q o a)
            = sum (acts P) (fun a => pi o a * (Q o (g o) - Q o a))).
    { rewrite (sum_ext _ _ (fun a => one_hot g o a * Q o a - pi o a * Q o a)) by (intros; ring).
      rewrite sum_minus.
      rewrite (sum_ext _ (fun a => pi o a * (Q o (g o) - Q o a))
                         (fun a => pi o a * Q o (g o) - pi o a * Q o a)) by (intros; ring).
      rewrite sum_minus. f_equal.
      pose proof (choose_one_hot g o (Q o) (acts_once P HP) (Ig o)) as C1.
      pose proof (choose_const pi o (Q o (g o)) H) as C2. unfold choose in C1, C2. lra. }
    rewrite E. destruct D as [D|D].
    - assert (N : forall b, In b (acts P) -> 0 <= pi o b * (Q o (g o) - Q o b)).
      { intros b Hb. apply Rmult_le_pos; [apply H; auto|]. specialize (Best o b Ho D Hb). lra. }
      split; [|apply Rmult_le_pos; [lra|auto]]. apply Rmult_le_compat_l; [lra|].
      apply (sum_pos_term (acts P) (fun a => pi o a * (Q o (g o) - Q o a))); auto.
    - rewrite <- D. lra. }
  apply Rle_trans with (1 := proj1 (X o Ho a Ha)).
  apply (sum_pos_term l (fun o => d o * sum (acts P) (fun a => (one_hot g o a - pi o a) * Q o a))); auto.
  intros o' Ho'. destruct (acts P) as [|b k] eqn:EA.
  - simpl. lra.
  - rewrite <- EA in *. destruct (X o' Ho' b) as [X1 X2]; [rewrite EA; left; auto|]. lra.
Qed.
End Rows.
End Improvement.
