(* Certificates whose numbers are polynomials, on tasks of at most T steps: values, q-values, values of
   temporal differences, and greedy actions, computed and proved right about the definitions of `Model.v`
   for all values of the names. *)
From Coq Require Import Reals Lra Lia List Bool Arith QArith Qreals.
From Remembering Require Import Sums Model TwoSteps Improvement Ties Polynomials Tasks.
Import ListNotations.
Open Scope R_scope.

(** * Tasks that end *)

Section Ends.
Variable P : pomdp.
Lemma vn_ends (pi : policy P) n : forall s k, ends_in P n s -> vn pi (n + k) s = vn pi n s.
Proof.
  induction n as [|n IH]; intros s k H.
  - destruct H as [H|[]]. destruct k; simpl; auto. unfold backup. rewrite H. auto.
  - cbn [Nat.add vn]. unfold backup. destruct (terminal P s) eqn:T; auto.
    destruct H as [H|H]; [congruence|]. apply mean_ext. intros o. apply choose_ext. intros a Ha.
    apply mean_ext_in. intros y Hy. rewrite IH; auto. apply (H a y); auto.
Qed.
Lemma value_ends (pi : policy P) T : horizon P T -> is_value pi (value_n pi T).
Proof.
  intros H e He. exists T. intros n Hn. replace n with (T + (n - T))%nat by lia.
  replace (value_n pi (T + (n - T))) with (value_n pi T).
  - unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto.
  - symmetry. apply mean_ext_in. intros y Hy. apply vn_ends, H, Hy.
Qed.

(** * Temporal differences *)

(* n rewards and then what the table w says of the next pair (o, a): the expected n-step target of a in s
   is next (read pi w (n - 1)) s a *)
Fixpoint read (pi : policy P) (w : obs P -> act P -> R) (n : nat) : state P -> R :=
  match n with
  | O => fun s => if terminal P s then 0 else mean (omega P s) (fun o => choose pi o (w o))
  | S k => backup pi (read pi w k)
  end.
(* w(o, a) is the mean of its n-step targets, over the visits of o *)
Definition td_value (T n : nat) (pi : policy P) (w : obs P -> act P -> R) (o : obs P) (a : act P) : Prop :=
  behind_n 1 pi T o (fun s => next (read pi w (n - 1)) s a) = w o a * visits T pi o.
End Ends.
Arguments read {P}. Arguments td_value {P}.

(** * Computed *)

Section Computed.
Variables (t : task poly) (c : kind) (rows : table_of poly) (T : nat).
Notation E e := (product (at_ e) t c).
Notation pi_of e := (to_policy (at_ e) zero t c rows).
Lemma polynomials e : sound (at_ e) zero plus times null.
Proof. constructor; auto using plus_at, times_at, null_at. Qed.

Fixpoint ends (n s : nat) : bool :=
  ended t s ||
  match n with
  | O => false
  | S k => forallb (fun a => forallb (fun y => ends k (fst (fst y))) (outcomes t s a)) (seq 0 (tacts t))
  end.
Definition all_end : bool := forallb (fun y => ends T (fst y)) (tmu t).
Lemma ends_right e n : forall s m o, ends n s = true -> ends_in (E e) n (s, m, o).
Proof.
  induction n as [|n IH]; intros s m o; cbn [ends ends_in]; intros H; apply orb_prop in H as [H|H];
    try discriminate; auto.
  right. intros [a w] y Ha Hy. apply product_in in Hy as (z & x & Hz & Hx & _ & ->).
  apply IH. apply in_prod_iff in Ha as [Ha _]. rewrite forallb_forall in H. specialize (H a Ha).
  rewrite forallb_forall in H. apply (H z Hz).
Qed.
Lemma horizon_right e : all_end = true -> horizon (E e) T.
Proof.
  intros H y Hy. apply product_start in Hy as (s & o & -> & Hs & Ho).
  unfold all_end in H. rewrite forallb_forall in H. apply ends_right. apply (H s Hs).
Qed.

Notation fstep := (step_of zero plus times null t c rows).
Notation fthen := (then_ zero plus times t c).
Definition gone (x : spot) : bool := ended t (fst (fst x)).
Definition onwards (v : spot -> poly) (r : poly) (y : spot) : poly := plus r (times (tgamma t) (v y)).
Definition fbackup (v : spot -> poly) (x : spot) : poly := if gone x then zero else fstep (onwards v) x.
Definition fnext (v : spot -> poly) (x : spot) (b : nat * nat) : poly := fthen (onwards v) x b.
Fixpoint fv (n : nat) : spot -> poly := match n with O => fun _ => zero | S k => fbackup (fv k) end.
Definition fgo (f : spot -> poly) (x : spot) : poly := if gone x then zero else fstep (fun _ y => f y) x.
Fixpoint fexpect (k : nat) (f : spot -> poly) : poly :=
  match k with O => start_with zero plus times t c f | S j => fexpect j (fgo f) end.
Definition fbehind (o : row) (f : spot -> poly) : poly :=
  total zero plus (seq 0 T) (fun k => fexpect k (fun x =>
    if gone x then zero else if same_row (snd (fst x), snd x) o then f x else zero)).
Definition fvisits (o : row) : poly := fbehind o (fun _ => one).
Fixpoint fread (w : table_of poly) (n : nat) : spot -> poly :=
  match n with
  | O => fun x => if gone x then zero
                  else chosen zero plus times null t c rows (snd (fst x), snd x) (chance zero w (snd (fst x), snd x))
  | S k => fbackup (fread w k)
  end.

Lemma onwards_right e v g r y : (forall x, at_ e (v x) = g x) ->
  at_ e (onwards v r y) = at_ e r + at_ e (tgamma t) * g y.
Proof. intros H. unfold onwards. rewrite plus_at, times_at, H. auto. Qed.
Lemma fbackup_right e v g x : (forall x, at_ e (v x) = g x) ->
  at_ e (fbackup v x) = backup (P := E e) (pi_of e) g x.
Proof.
  intros H. destruct x as [[s m] o]. unfold fbackup, backup, gone. cbn [fst].
  change (terminal (E e) (s, m, o)) with (ended t s). destruct (ended t s); auto.
  change (omega (E e) (s, m, o)) with (ret (m, o)). rewrite mean_ret.
  apply (step_right _ _ _ _ _ t c rows (polynomials e) _ (fun r y => r + at_ e (tgamma t) * g y)).
  intros. apply onwards_right; auto.
Qed.
Lemma fnext_right e v g x b : (forall x, at_ e (v x) = g x) ->
  at_ e (fnext v x b) = next (P := E e) g x b.
Proof.
  intros H. destruct x as [[s m] o], b as [a w].
  apply (then_right _ _ _ _ _ t c (polynomials e) _ (fun r y => r + at_ e (tgamma t) * g y)).
  intros. apply onwards_right; auto.
Qed.
Lemma fv_right e n x : at_ e (fv n x) = vn (P := E e) (pi_of e) n x.
Proof. revert x. induction n; intros x; auto. apply fbackup_right. auto. Qed.
Lemma fgo_right e f g x : (forall x, at_ e (f x) = g x) -> at_ e (fgo f x) = go (P := E e) (pi_of e) g x.
Proof.
  intros H. destruct x as [[s m] o]. unfold fgo, go, gone. cbn [fst].
  change (terminal (E e) (s, m, o)) with (ended t s). destruct (ended t s); auto.
  change (omega (E e) (s, m, o)) with (ret (m, o)). rewrite mean_ret.
  apply (step_right _ _ _ _ _ t c rows (polynomials e) _ (fun _ y => g y)). auto.
Qed.
Lemma fexpect_right e k : forall f g, (forall x, at_ e (f x) = g x) ->
  at_ e (fexpect k f) = expect (P := E e) (pi_of e) k g.
Proof.
  induction k; intros f g H; cbn [fexpect expect].
  - apply (start_right _ _ _ _ _ t c (polynomials e)). auto.
  - apply IHk. intros x. apply fgo_right. auto.
Qed.
Lemma sees_right e x o : sees (P := E e) x o =
  if gone x then 0 else if same_row (snd (fst x), snd x) o then 1 else 0.
Proof.
  destruct x as [[s m] o']. unfold sees, gone. cbn [fst snd].
  change (terminal (E e) (s, m, o')) with (ended t s). destruct (ended t s); auto.
  change (omega (E e) (s, m, o')) with (ret (m, o')). rewrite prob_ret.
  destruct (obs_dec (E e) (m, o') o) as [D|D].
  - rewrite <- D. rewrite same_row_refl. auto.
  - destruct (same_row (m, o') o) eqn:S; auto. apply same_row_eq in S. contradiction.
Qed.
Lemma fbehind_right e o f g : (forall x, at_ e (f x) = g x) ->
  at_ e (fbehind o f) = behind_n (P := E e) 1 (pi_of e) T o g.
Proof.
  intros H. unfold fbehind, behind_n, sumn. rewrite (total_sum _ _ _ _ _ (polynomials e)).
  apply sum_ext. intros k. rewrite pow1, Rmult_1_l. apply fexpect_right. intros x.
  rewrite sees_right. destruct (gone x); [simpl; ring|]. destruct (same_row _ o); [rewrite H; ring|simpl; ring].
Qed.
Lemma fvisits_right e o : at_ e (fvisits o) = visits (P := E e) T (pi_of e) o.
Proof.
  unfold fvisits. rewrite (fbehind_right e o _ (fun _ => 1)) by (intros; apply one_at).
  apply sumn_ext. intros k _. f_equal. apply expect_ext. intros s. ring.
Qed.
Lemma behind_q e o b : at_ e (fbehind o (fun x => fnext (fv T) x b)) =
  behind_n (P := E e) 1 (pi_of e) T o (fun s => qn (P := E e) (pi_of e) T s b).
Proof. apply fbehind_right. intros x. apply fnext_right. apply fv_right. Qed.

(** * Values *)

Definition check_formula (x : poly) : bool := all_end && same x (start_with zero plus times t c (fv T)).
Theorem formula_right x : check_formula x = true -> forall e, is_value (P := E e) (pi_of e) (at_ e x).
Proof.
  unfold check_formula. intros H e. apply andb_prop in H as [H S]. apply (same_at e) in S. rewrite S.
  rewrite (start_right _ _ _ _ _ t c (polynomials e) _ (vn (P := E e) (pi_of e) T)) by (apply fv_right).
  apply value_ends. apply horizon_right. auto.
Qed.

(** * q-values *)

(* rows with their visits and their q-values n/d *)
Definition q_rows := list (row * poly * list ((nat * nat) * (poly * poly))).
Definition check_q (l : q_rows) : bool :=
  forallb (fun y => let '(o, d, qs) := y in
    same (fvisits o) d &&
    forallb (fun z => let '(b, (num, den)) := z in
      same (times den (fbehind o (fun x => fnext (fv T) x b))) (times num d)) qs) l.
Definition q_values (e : list R) (l : q_rows) : Prop :=
  forall o d qs, In (o, d, qs) l -> visits (P := E e) T (pi_of e) o = at_ e d /\
    forall b num den, In (b, (num, den)) qs -> at_ e d <> 0 -> at_ e den <> 0 ->
      q (P := E e) T (pi_of e) o b = at_ e num / at_ e den.
Theorem q_right x l : check_formula x && check_q l = true -> forall e,
  horizon (E e) T /\ is_value (P := E e) (pi_of e) (at_ e x) /\ q_values e l.
Proof.
  intros H e. apply andb_prop in H as [H1 H]. split; [|split].
  - apply andb_prop in H1 as [H1 _]. apply horizon_right. auto.
  - apply formula_right. auto.
  - intros o d qs I. unfold check_q in H. rewrite forallb_forall in H. specialize (H _ I).
    cbv beta iota in H. apply andb_prop in H as [V H]. apply (same_at e) in V. rewrite fvisits_right in V.
    split; auto. intros b num den J D F. rewrite forallb_forall in H. specialize (H _ J).
    cbv beta iota in H. apply (same_at e) in H. rewrite !times_at, behind_q in H.
    unfold q. rewrite V. apply Rmult_eq_reg_r with (at_ e d * at_ e den);
      [|apply Rmult_integral_contrapositive; auto].
    transitivity (at_ e den * behind_n (P := E e) 1 (pi_of e) T o (fun s => qn (P := E e) (pi_of e) T s b));
      [field; auto|]. rewrite H. field; auto.
Qed.

(** * Temporal differences *)

(* whether f holds at all places that an action may lead to, or where the policy may be after k steps *)
Definition all_then (f : spot -> bool) (x : spot) (b : nat * nat) : bool :=
  let '(s, m, o) := x in
  forallb (fun y => forallb (fun z => f (fst (fst y), after (tacts t) c m (snd b) o (fst b), fst z))
    (seen_in t (fst (fst y)))) (outcomes t s (fst b)).
Definition all_next (f : spot -> bool) (x : spot) : bool :=
  gone x || forallb (fun b => null (chance zero rows (snd (fst x), snd x) b) || all_then f x b) (choices_of t c).
Fixpoint always (k : nat) (f : spot -> bool) : bool :=
  match k with
  | O => forallb (fun y => forallb (fun z => f (fst y, start_of c, fst z)) (seen_in t (fst y))) (tmu t)
  | S j => always j (all_next f)
  end.
(* whether what is read n steps later stands in a table *)
Definition stands (w : table_of poly) (o : row) (b : nat * nat) : bool :=
  existsb (fun y => same_row o (fst y) && existsb (fun z => same_act b (fst z)) (snd y)) w.
Fixpoint reads (w : table_of poly) (n : nat) : spot -> bool :=
  match n with
  | O => fun x => gone x || forallb (fun b => null (chance zero rows (snd (fst x), snd x) b) ||
                                              stands w (snd (fst x), snd x) b) (choices_of t c)
  | S k => all_next (reads w k)
  end.
Lemma not_taken e o b : null (chance zero rows o b) = true -> forall x, pi_of e o b * x = 0.
Proof. intros H x. unfold to_policy. rewrite (null_at e _ H). ring. Qed.
Lemma all_then_right e f (g h : spot -> R) (k : R -> R -> R) x b : all_then f x b = true ->
  (forall x, f x = true -> g x = h x) -> mean (p (E e) x b) (fun y => k (snd y) (g (fst y)))
  = mean (p (E e) x b) (fun y => k (snd y) (h (fst y))).
Proof.
  destruct x as [[s m] o], b as [a w]. intros H G. apply mean_ext_in. intros z Hz.
  apply product_in in Hz as (y & x & Hy & Hx & _ & ->). f_equal. apply G.
  unfold all_then in H. rewrite forallb_forall in H. specialize (H y Hy).
  rewrite forallb_forall in H. apply (H x Hx).
Qed.
Lemma all_next_right e f (g h : spot -> R) x (k : R -> R -> R) : all_next f x = true -> (forall x, f x = true -> g x = h x) ->
  gone x = true \/
  choose (P := E e) (pi_of e) (snd (fst x), snd x) (fun b => mean (p (E e) x b) (fun y => k (snd y) (g (fst y)))) =
  choose (P := E e) (pi_of e) (snd (fst x), snd x) (fun b => mean (p (E e) x b) (fun y => k (snd y) (h (fst y)))).
Proof.
  intros H G. unfold all_next in H. apply orb_prop in H as [H|H]; [auto|right].
  apply sum_ext_in. intros b Hb. rewrite forallb_forall in H. specialize (H b Hb).
  apply orb_prop in H as [H|H].
  - etransitivity; [apply not_taken; exact H|symmetry; apply not_taken; exact H].
  - f_equal. apply (all_then_right e f); auto.
Qed.
Lemma go_all e f (g h : spot -> R) x : all_next f x = true -> (forall x, f x = true -> g x = h x) ->
  go (P := E e) (pi_of e) g x = go (P := E e) (pi_of e) h x.
Proof.
  intros H G. destruct (all_next_right e f g h x (fun _ v => v) H G) as [A|A]; destruct x as [[s m] o];
    unfold go; change (terminal (E e) (s, m, o)) with (ended t s).
  - unfold gone in A. cbn [fst] in A. rewrite A. auto.
  - destruct (ended t s); auto. change (omega (E e) (s, m, o)) with (ret (m, o)). rewrite !mean_ret. exact A.
Qed.
Lemma backup_all e f (g h : spot -> R) x : all_next f x = true -> (forall x, f x = true -> g x = h x) ->
  backup (P := E e) (pi_of e) g x = backup (P := E e) (pi_of e) h x.
Proof.
  intros H G.
  destruct (all_next_right e f g h x (fun r v => r + gamma (E e) * v) H G) as [A|A]; destruct x as [[s m] o];
    unfold backup; change (terminal (E e) (s, m, o)) with (ended t s).
  - unfold gone in A. cbn [fst] in A. rewrite A. auto.
  - destruct (ended t s); auto. change (omega (E e) (s, m, o)) with (ret (m, o)). rewrite !mean_ret. exact A.
Qed.
Lemma always_right e k : forall f (g h : spot -> R), always k f = true -> (forall x, f x = true -> g x = h x) ->
  expect (P := E e) (pi_of e) k g = expect (P := E e) (pi_of e) k h.
Proof.
  induction k as [|k IH]; intros f g h H G; cbn [always expect] in *.
  - apply mean_ext_in. intros y Hy. apply product_start in Hy as (s & o & -> & Hs & Ho). apply G.
    rewrite forallb_forall in H. specialize (H s Hs). rewrite forallb_forall in H. apply (H o Ho).
  - apply (IH (all_next f)); auto. intros x Hx. apply (go_all e f); auto.
Qed.
Definition says (e : list R) (w : table_of poly) (g : row -> nat * nat -> R) : Prop :=
  forall o b, stands w o b = true -> g o b = at_ e (chance zero w o b).
Lemma reads_right e w g n : says e w g -> forall x, reads w n x = true ->
  read (P := E e) (pi_of e) g n x = read (P := E e) (pi_of e) (fun o b => at_ e (chance zero w o b)) n x.
Proof.
  intros W. induction n as [|n IH]; intros x H; cbn [reads read] in *.
  - destruct x as [[s m] o]. change (terminal (E e) (s, m, o)) with (ended t s).
    unfold gone in H. cbn [fst snd] in H. destruct (ended t s); auto. cbn [orb] in H.
    change (omega (E e) (s, m, o)) with (ret (m, o)). rewrite !mean_ret.
    apply sum_ext_in. intros b Hb. rewrite forallb_forall in H. specialize (H b Hb).
    apply orb_prop in H as [H|H].
    + etransitivity; [apply not_taken; exact H|symmetry; apply not_taken; exact H].
    + f_equal. apply W. auto.
  - apply (backup_all e (reads w n)); auto.
Qed.
Lemma fread_right e w n : forall x, at_ e (fread w n x) =
  read (P := E e) (pi_of e) (fun o b => at_ e (chance zero w o b)) n x.
Proof.
  induction n as [|n IH]; intros x; cbn [fread read].
  - destruct x as [[s m] o]. change (terminal (E e) (s, m, o)) with (ended t s). unfold gone. cbn [fst snd].
    destruct (ended t s); auto. change (omega (E e) (s, m, o)) with (ret (m, o)). rewrite mean_ret.
    apply (chosen_right _ _ _ _ _ t c rows (polynomials e)). auto.
  - apply fbackup_right. auto.
Qed.
Definition check_td (n : nat) (w : table_of poly) : bool :=
  all_end &&
  forallb (fun y => let o := fst y in forallb (fun z => let b := fst z in
    forallb (fun k => always k (fun x => negb (same_row (snd (fst x), snd x) o) || gone x ||
                                         all_then (reads w (n - 1)) x b)) (seq 0 T) &&
    same (fbehind o (fun x => fnext (fread w (n - 1)) x b)) (times (chance zero w o b) (fvisits o))) (snd y)) w.
(* whatever the table says of other pairs *)
Theorem td_right n w : check_td n w = true -> forall e, horizon (E e) T /\
  forall g, says e w g -> forall o l b v, In (o, l) w -> In (b, v) l ->
    td_value (P := E e) T n (pi_of e) g o b.
Proof.
  unfold check_td. intros H e. apply andb_prop in H as [H0 H]. split; [apply horizon_right; auto|].
  intros g W o l b v I J. rewrite forallb_forall in H. specialize (H _ I). cbv zeta in H. cbn [fst snd] in H.
  rewrite forallb_forall in H. specialize (H _ J). cbn [fst] in H. apply andb_prop in H as [H S].
  apply (same_at e) in S. rewrite times_at, fvisits_right in S. unfold td_value.
  assert (G : g o b = at_ e (chance zero w o b)).
  { apply W. unfold stands. apply existsb_exists. exists (o, l). split; auto. cbn [fst snd].
    rewrite same_row_refl. apply existsb_exists. exists (b, v). split; auto. cbn [fst].
    unfold same_act. rewrite !Nat.eqb_refl. auto. }
  rewrite G, <- S.
  rewrite (fbehind_right e o _ (fun x => next (P := E e) (read (P := E e) (pi_of e) (fun o b => at_ e (chance zero w o b)) (n - 1)) x b))
    by (intros x; apply fnext_right, fread_right).
  apply sumn_ext. intros k Hk. f_equal. rewrite forallb_forall in H. specialize (H k).
  rewrite in_seq in H. specialize (H ltac:(lia)). apply (always_right e k _ _ _ H). intros x Hx.
  rewrite sees_right. destruct (gone x); [ring|]. destruct (same_row _ o); [|ring]. cbn in Hx. f_equal.
  apply (all_then_right e (reads w (n - 1)) _ _ (fun r v => r + gamma (E e) * v) x b Hx).
  apply reads_right. auto.
Qed.

(** * Greedy actions *)

(* ties go to the higher write, then to the lower action *)
Definition tie_rule : (nat * nat) * list (nat * nat) := by_write (tacts t) (length (writes_of c)).
(* a row, the greedy action, the visits' proof, and those of the differences to the actions before and after it
   in the order of ties *)
Definition winner := (row * (nat * nat) * proof * list ((nat * nat) * proof) * list ((nat * nat) * proof))%type.
Definition lead (o : row) (a b : nat * nat) : poly :=
  fbehind o (fun x => minus (fnext (fv T) x a) (fnext (fv T) x b)).
Definition acts_eqb (l k : list (nat * nat)) : bool :=
  Nat.eqb (length l) (length k) && forallb (fun y => same_act (fst y) (snd y)) (combine l k).
Definition check_winner (n : nat) (b : box) (x : winner) : bool :=
  let '(o, g, seen, before, later) := x in
  Nat.leb (length b) n &&
  acts_eqb (fst tie_rule :: snd tie_rule) (map fst before ++ g :: map fst later) &&
  check_positive n b true (fvisits o) seen &&
  forallb (fun y => check_positive n b true (lead o g (fst y)) (snd y)) before &&
  forallb (fun y => check_positive n b false (lead o g (fst y)) (snd y)) later.
Definition row_of (x : winner) : row := let '(o, _, _, _, _) := x in o.
Definition act_of (x : winner) : nat * nat := let '(_, g, _, _, _) := x in g.
Lemma acts_eqb_eq l k : acts_eqb l k = true -> l = k.
Proof.
  unfold acts_eqb. revert k. induction l as [|x l IH]; intros [|y k] H; simpl in H; try discriminate; auto.
  apply andb_prop in H as [H1 H2]. apply andb_prop in H2 as [H2 H3]. apply same_act_eq in H2.
  rewrite H2, (IH k); auto. rewrite H1, H3. auto.
Qed.
Lemma lead_right e o a b : at_ e (lead o a b) =
  behind_n (P := E e) 1 (pi_of e) T o (fun s => qn (P := E e) (pi_of e) T s a)
  - behind_n (P := E e) 1 (pi_of e) T o (fun s => qn (P := E e) (pi_of e) T s b).
Proof.
  unfold lead. rewrite (fbehind_right e o _ (fun s => qn (P := E e) (pi_of e) T s a - qn (P := E e) (pi_of e) T s b)).
  - unfold behind_n, sumn. rewrite <- sum_minus. apply sum_ext. intros k.
    rewrite <- Rmult_minus_distr_l, <- expect_minus. f_equal. apply expect_ext. intros; ring.
  - intros x. rewrite minus_at. f_equal; apply fnext_right; apply fv_right.
Qed.
Lemma winner_right_in b x e : check_winner (length e) b x = true -> in_box b e ->
  0 < visits (P := E e) T (pi_of e) (row_of x) /\
  greedy (P := E e) T tie_rule (pi_of e) (row_of x) = act_of x.
Proof.
  destruct x as [[[[o g] seen] before] later]. cbn [row_of act_of]. unfold check_winner. intros H B.
  apply andb_prop in H as [H A]. apply andb_prop in H as [H F]. apply andb_prop in H as [H V].
  apply andb_prop in H as [L O]. apply Nat.leb_le in L. apply acts_eqb_eq in O.
  apply (positive_right e seen b) in V; auto. cbn [sign] in V. rewrite fvisits_right in V.
  split; auto. unfold greedy. apply (argmax_is (P := E e) _ _ _ (map fst before) (map fst later)).
  - exact O.
  - intros a Ha. apply in_map_iff in Ha as (y & <- & Hy). rewrite forallb_forall in F.
    specialize (F y Hy). apply (positive_right e) in F; auto. cbn [sign] in F. rewrite lead_right in F.
    unfold q, Rdiv. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; auto|lra].
  - intros a Ha. apply in_map_iff in Ha as (y & <- & Hy). rewrite forallb_forall in A.
    specialize (A y Hy). apply (positive_right e) in A; auto. cbn [sign] in A. rewrite lead_right in A.
    unfold q, Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto|lra].
Qed.
Lemma winner_right b x e : check_winner (length e) b x = true -> inside b e ->
  0 < visits (P := E e) T (pi_of e) (row_of x) /\
  greedy (P := E e) T tie_rule (pi_of e) (row_of x) = act_of x.
Proof.
  intros H B. apply (winner_right_in b); auto. apply inside_box; auto.
  destruct x as [[[[? ?] ?] ?] ?]. repeat (apply andb_prop in H as [H _]). apply Nat.leb_le. auto.
Qed.
Definition check_winners (n : nat) (b : box) (l : list winner) : bool := all_end && forallb (check_winner n b) l.
Theorem winners_right b l e : check_winners (length e) b l = true -> inside b e ->
  horizon (E e) T /\ forall o a, In (o, a) (map (fun x => (row_of x, act_of x)) l) ->
    0 < visits (P := E e) T (pi_of e) o /\ greedy (P := E e) T tie_rule (pi_of e) o = a.
Proof.
  unfold check_winners. intros H B. apply andb_prop in H as [H0 H]. split; [apply horizon_right; auto|].
  intros o a I. apply in_map_iff in I as (x & D & I). injection D as <- <-.
  rewrite forallb_forall in H. apply (winner_right b); auto.
Qed.
End Computed.

(** * A step towards greedy *)

(* rows that are visited move towards their greedy action, the others stay *)
Definition moved (t : task poly) (c : kind) (rows next : table_of poly) (step : poly) (T : nat)
  (o : row) (g : option (nat * nat)) : bool :=
  forallb (fun b => same (chance zero next o b)
    match g with
    | None => chance zero rows o b
    | Some a => plus (times (minus one step) (chance zero rows o b)) (if same_act b a then step else [])
    end) (choices_of t c).
Definition check_step (t : task poly) (c : kind) (rows next : table_of poly) (step : poly) (T n : nat)
  (before later : poly) (won : list winner) (unseen : list row) : bool :=
  check_formula t c rows T before && check_formula t c next T later &&
  forallb (check_winner t c rows T n []) won &&
  forallb (fun x => moved t c rows next step T (row_of x) (Some (act_of x))) won &&
  forallb (fun o => null (fvisits t c rows T o) && moved t c rows next step T o None) unseen.
Theorem step_is_right t c rows next step T before later won unseen e :
  check_step t c rows next step T (length e) before later won unseen = true ->
  let P := product (at_ e) t c in
  let pi : policy P := to_policy (at_ e) zero t c rows in
  let pi' : policy P := to_policy (at_ e) zero t c next in
  horizon P T /\ is_value pi (at_ e before) /\ is_value pi' (at_ e later) /\
  forall o b, In o (map row_of won ++ unseen) -> In b (acts P) ->
    improve (P := P) T (tie_rule t c) (at_ e step) pi o b = pi' o b.
Proof.
  unfold check_step. intros H. cbv zeta. apply andb_prop in H as [H U]. apply andb_prop in H as [H M].
  apply andb_prop in H as [H W]. apply andb_prop in H as [H1 H2]. split; [|split; [|split]].
  - apply andb_prop in H1 as [H1 _]. apply horizon_right. auto.
  - apply formula_right with (1 := H1).
  - apply formula_right with (1 := H2).
  - intros o b I Hb. unfold improve. apply in_app_or in I as [I|I].
    + apply in_map_iff in I as (x & <- & I). rewrite forallb_forall in W, M.
      specialize (W x I). specialize (M x I).
      destruct (winner_right t c rows T [] x e W) as [V G]; [exact (Logic.I)|].
      destruct (Rlt_dec 0 _) as [Y|Y]; [clear Y|exfalso; exact (Y V)]. rewrite G.
      unfold moved in M. rewrite forallb_forall in M. specialize (M b Hb). apply (same_at e) in M.
      unfold to_policy. rewrite M, plus_at, times_at, minus_at, one_at. f_equal.
      destruct (act_dec (product (at_ e) t c) b (act_of x)) as [D|D].
      * rewrite D. unfold same_act. rewrite !Nat.eqb_refl. cbn [andb]. ring.
      * destruct (same_act b (act_of x)) eqn:S; [apply same_act_eq in S; exfalso; exact (D S)|]. simpl. ring.
    + rewrite forallb_forall in U. specialize (U o I). apply andb_prop in U as [U M'].
      apply (null_at e) in U. rewrite fvisits_right in U.
      destruct (Rlt_dec 0 _) as [Y|Y]; [exfalso; lra|].
      unfold moved in M'. rewrite forallb_forall in M'. specialize (M' b Hb). apply (same_at e) in M'.
      unfold to_policy. auto.
Qed.
