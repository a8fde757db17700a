(* B(k) for every k at once: policies that treat the 2^k - 2 words between the first and the last alike.
   Visits and q-values are those of a memory with three words. *)
From Coq Require Import Reals Lra Lia List Bool Arith QArith Qreals.
From Remembering Require Import Sums Model TwoSteps Improvement Ties Polynomials Tasks Formulas.
Import ListNotations.
Open Scope R_scope.

Section Classes.
Context {N : Type}.
Variables (real : N -> R) (t : task N) (K : nat).
Hypothesis two : (2 <= K)%nat.
Notation P3 := (product real t (Words 3)).
Notation PK := (product real t (Words K)).
(* the first word, the others, the last word *)
Definition class (w : nat) : nat := if Nat.eqb w 0 then 0 else if Nat.eqb (S w) K then 2 else 1.
Definition size (c : nat) : R := if Nat.eqb c 1 then INR (K - 2) else 1.
Definition word (c : nat) : nat := if Nat.eqb c 0 then 0 else K - 1.
Variable pi : row -> nat * nat -> R.
(* each of the other words gets the same share *)
Definition spread (o : row) (b : nat * nat) : R :=
  pi ([class (hd 0%nat (fst o))], snd o) (fst b, class (snd b)) / size (class (snd b)).
Hypothesis no_others : K = 2%nat -> forall (o : row) (a : nat), pi o (a, 1%nat) = 0.

Lemma class_word w : (w < K)%nat -> class w <> 1%nat -> w = word (class w).
Proof.
  unfold class, word. destruct (Nat.eqb_spec w 0); [subst; auto|].
  destruct (Nat.eqb_spec (S w) K); [simpl; lia|congruence].
Qed.
Lemma class_of_word c : (c = 0 \/ c = 2)%nat -> class (word c) = c /\ (word c < K)%nat.
Proof.
  intros [-> | ->]; [split; [auto|unfold word; simpl; lia]|]. unfold word. simpl (Nat.eqb 2 0).
  split; [|lia]. unfold class. destruct (Nat.eqb_spec (K - 1) 0); [lia|].
  destruct (Nat.eqb_spec (S (K - 1)) K); [auto|lia].
Qed.
Lemma class_range w : (class w < 3)%nat.
Proof. unfold class. destruct (Nat.eqb w 0), (Nat.eqb (S w) K); lia. Qed.
Lemma others_size w : (w < K)%nat -> size (class w) <> 0.
Proof.
  unfold size, class. intros H. destruct (Nat.eqb_spec w 0); [simpl; lra|].
  destruct (Nat.eqb_spec (S w) K); simpl; [lra|]. apply not_0_INR. lia.
Qed.
Lemma sum_classes F : (K = 2%nat -> F 1%nat = 0) ->
  sum (seq 0 K) (fun w => F (class w) / size (class w)) = sum (seq 0 3) F.
Proof.
  intros Z. assert (E : exists j, K = S (S j)) by (exists (K - 2)%nat; lia). destruct E as [j E].
  assert (L : seq 0 K = 0%nat :: seq 1 j ++ [S j]).
  { rewrite E. change (seq 0 (S (S j))) with (0%nat :: seq 1 (S j)). rewrite seq_S. reflexivity. }
  rewrite L. cbn [sum]. rewrite sum_app. cbn [sum seq].
  assert (C : class (S j) = 2%nat).
  { unfold class. simpl (Nat.eqb (S j) 0). rewrite E, Nat.eqb_refl. auto. }
  rewrite C, (sum_ext_in _ _ (fun _ => F 1%nat / INR j)).
  - rewrite sum_const, seq_length. change (class 0) with 0%nat. unfold size. simpl (Nat.eqb _ _).
    cbv iota. destruct j as [|j]; [rewrite (Z E); simpl; lra|]. field. apply not_0_INR. lia.
  - intros w Hw. apply in_seq in Hw. assert (D : class w = 1%nat).
    { unfold class. destruct (Nat.eqb_spec w 0); [lia|]. destruct (Nat.eqb_spec (S w) K); [lia|auto]. }
    rewrite D. unfold size. simpl (Nat.eqb 1 1). cbv iota. replace (K - 2)%nat with j by lia. auto.
Qed.

(* what follows an action does not read the memory *)
Definition arrive (s a : nat) (h : R -> nat -> nat -> R) : R :=
  sum (outcomes t s a) (fun y => real (snd y) * sum (seen_in t (fst (fst y))) (fun z =>
    real (snd z) * h (real (snd (fst y))) (fst (fst y)) (fst z))).
Lemma p_words J s m o a w (g : spot * R -> R) :
  mean (p (product real t (Words J)) (s, m, o) (a, w)) g = arrive s a (fun r s' o' => g ((s', [w], o'), r)).
Proof.
  etransitivity; [apply (mean_bind (p (to_pomdp real t) s a))|].
  unfold mean at 1. simpl (p (to_pomdp real t) s a). rewrite sum_map.
  apply sum_ext. intros y. simpl fst. simpl snd. f_equal.
  etransitivity; [apply mean_bind|]. unfold mean at 1. simpl (omega (to_pomdp real t) _). rewrite sum_map.
  apply sum_ext. intros z. simpl fst. simpl snd. f_equal. unfold mean. simpl. ring.
Qed.
Lemma arrive_ext s a h k : (forall r s' o', h r s' o' = k r s' o') -> arrive s a h = arrive s a k.
Proof.
  intros H. apply sum_ext. intros y. f_equal. apply sum_ext. intros z. rewrite H. auto.
Qed.
Lemma choose_words J (q : row -> nat * nat -> R) (o : row) (f : nat * nat -> R) :
  choose (P := product real t (Words J)) q o f = sum (seq 0 (tacts t)) (fun a => sum (seq 0 J) (fun w => q o (a, w) * f (a, w))).
Proof. apply (sum_list_prod (seq 0 (tacts t)) (seq 0 J) (fun b => q o b * f b)). Qed.
Lemma choose_spread (m : list nat) (o : nat) (f h : nat * nat -> R) :
  (forall a w, (w < K)%nat -> f (a, w) = h (a, class w)) ->
  choose (P := PK) spread (m, o) f = choose (P := P3) pi ([class (hd 0%nat m)], o) h.
Proof.
  intros H. rewrite !choose_words. apply sum_ext. intros a.
  rewrite <- (sum_classes (fun c => pi ([class (hd 0%nat m)], o) (a, c) * h (a, c))).
  - apply sum_ext_in. intros w Hw. apply in_seq in Hw. rewrite H by lia. unfold spread. cbn [fst snd].
    unfold Rdiv. ring.
  - intros E. rewrite (no_others E). ring.
Qed.

(* functions of the class *)
Definition lift (f : spot -> R) (x : spot) : R := f (fst (fst x), [class (hd 0%nat (snd (fst x)))], snd x).
Lemma next_lift v x a w : next (P := PK) (lift v) x (a, w)
  = next (P := P3) v (fst (fst x), [class (hd 0%nat (snd (fst x)))], snd x) (a, class w).
Proof.
  destruct x as [[s m] o]. unfold next. etransitivity; [apply (p_words K s m o a w)|].
  symmetry. apply (p_words 3).
Qed.
Lemma backup_lift v x : backup (P := PK) spread (lift v) x = lift (backup (P := P3) pi v) x.
Proof.
  destruct x as [[s m] o]. unfold backup, lift at 2. cbn [fst snd].
  change (terminal PK (s, m, o)) with (ended t s).
  change (terminal P3 (s, [class (hd 0%nat m)], o)) with (ended t s). destruct (ended t s); auto.
  change (omega PK (s, m, o)) with (ret (m, o)).
  change (omega P3 (s, [class (hd 0%nat m)], o)) with (ret ([class (hd 0%nat m)], o)). rewrite !mean_ret.
  apply choose_spread. intros a w _. apply (next_lift v (s, m, o)).
Qed.
Lemma vn_lift n : forall x, vn (P := PK) spread n x = lift (vn (P := P3) pi n) x.
Proof.
  induction n as [|n IH]; intros x; [auto|]. cbn [vn].
  rewrite (backup_ext PK spread _ (lift (vn (P := P3) pi n)) x IH). apply backup_lift.
Qed.
Lemma go_lift f x : go (P := PK) spread (lift f) x = lift (go (P := P3) pi f) x.
Proof.
  destruct x as [[s m] o]. unfold go, lift at 2. cbn [fst snd].
  change (terminal PK (s, m, o)) with (ended t s).
  change (terminal P3 (s, [class (hd 0%nat m)], o)) with (ended t s). destruct (ended t s); auto.
  change (omega PK (s, m, o)) with (ret (m, o)).
  change (omega P3 (s, [class (hd 0%nat m)], o)) with (ret ([class (hd 0%nat m)], o)). rewrite !mean_ret.
  apply choose_spread. intros a w _. etransitivity; [apply (p_words K s m o a w)|].
  symmetry. apply (p_words 3).
Qed.
Lemma expect_lift k : forall f, expect (P := PK) spread k (lift f) = expect (P := P3) pi k f.
Proof.
  induction k as [|k IH]; intros f; cbn [expect].
  - apply sum_ext_in. intros y Hy. destruct (product_start real t (Words 3) y Hy) as (s & o & F & _).
    assert (G : fst y = (fst s, [0%nat], fst o)) by exact F. f_equal. change (lift f (fst y) = f (fst y)).
    rewrite G. auto.
  - rewrite <- IH. apply expect_ext. intros x. apply go_lift.
Qed.
(* the memory holds a word *)
Lemma expect_words k f g : (forall s w o, (w < K)%nat -> f (s, [w], o) = g (s, [w], o)) ->
  expect (P := PK) spread k f = expect (P := PK) spread k g.
Proof.
  intros H. destruct k as [|k]; cbn [expect].
  - apply sum_ext_in. intros y Hy. destruct (product_start real t (Words K) y Hy) as (s & o & F & _).
    assert (G : fst y = (fst s, [0%nat], fst o)) by exact F. f_equal. rewrite G. apply H. lia.
  - apply expect_ext. intros [[s m] o]. unfold go. destruct (terminal PK (s, m, o)); auto.
    apply mean_ext. intros o'. apply choose_ext. intros [a w] I. apply in_prod_iff in I as [_ I].
    apply in_seq in I. etransitivity; [apply (p_words K s m o a w (fun y => f (fst y)))|].
    etransitivity; [|symmetry; apply (p_words K s m o a w (fun y => g (fst y)))]. apply arrive_ext.
    intros r s' o''. apply H. lia.
Qed.
Lemma sees_word (J s w o m o' : nat) : sees (P := product real t (Words J)) (s, [w], o) ([m], o') =
  if ended t s then 0 else if Nat.eqb w m && Nat.eqb o o' then 1 else 0.
Proof.
  unfold sees. change (terminal (product real t (Words J)) (s, [w], o)) with (ended t s).
  destruct (ended t s); auto.
  change (omega (product real t (Words J)) (s, [w], o)) with (ret ([w], o)). rewrite prob_ret.
  destruct (obs_dec (product real t (Words J)) ([w], o) ([m], o')) as [D|D].
  - injection D as -> ->. rewrite !Nat.eqb_refl. auto.
  - destruct (Nat.eqb_spec w m), (Nat.eqb_spec o o'); auto. subst. contradiction.
Qed.
Lemma class_same w m : (w < K)%nat -> (m < K)%nat -> class m <> 1%nat -> Nat.eqb (class w) (class m) = Nat.eqb w m.
Proof.
  intros W M C. destruct (Nat.eqb_spec w m); [subst; apply Nat.eqb_refl|].
  destruct (Nat.eqb_spec (class w) (class m)) as [E|]; auto. exfalso. apply n.
  rewrite (class_word m M C), <- E. apply class_word; congruence.
Qed.
(* of the words that may be written, one leads to the row of a word *)
Lemma one_word (J : nat) (x : nat -> R) (G : spot -> R) (s : nat) (m' : list nat) (o' a m o : nat) : (m < J)%nat ->
  sum (seq 0 J) (fun w => x w * mean (p (product real t (Words J)) (s, m', o') (a, w)) (fun y =>
    sees (P := product real t (Words J)) (fst y) ([m], o) * G (fst y)))
  = x m * arrive s a (fun _ s' o'' => (if ended t s' then 0 else if Nat.eqb o'' o then 1 else 0) * G (s', [m], o'')).
Proof.
  intros M. set (A := arrive s a _).
  transitivity (sum (seq 0 J) (fun w => if Nat.eq_dec w m then x w * A else 0));
    [|apply (sum_if Nat.eq_dec (seq 0 J) m (fun w => x w * A)); [apply seq_NoDup|apply in_seq; lia]].
  apply sum_ext. intros w.
  etransitivity; [apply (f_equal (Rmult (x w))), (p_words J s m' o' a w (fun y =>
    sees (P := product real t (Words J)) (fst y) ([m], o) * G (fst y)))|]. cbn [fst].
  destruct (Nat.eq_dec w m) as [->|D].
  - f_equal. apply arrive_ext. intros r s' o''. f_equal. etransitivity; [apply sees_word|].
    rewrite Nat.eqb_refl. auto.
  - transitivity (x w * arrive s a (fun _ _ _ => 0)).
    + f_equal. apply arrive_ext. intros r s' o''.
      transitivity (0 * G (s', [w], o'')); [|ring]. f_equal. etransitivity; [apply sees_word|].
      destruct (Nat.eqb_spec w m); [contradiction|]. destruct (ended t s'); auto.
    + replace (arrive s a (fun _ _ _ => 0)) with 0; [ring|]. symmetry. apply sum_zero. intros y _.
      rewrite sum_zero; [ring|]. intros; ring.
Qed.
Lemma start_row (J : nat) (G : spot -> R) (m o : nat) : m <> 0%nat ->
  mean (mu (product real t (Words J))) (fun x => sees (P := product real t (Words J)) x ([m], o) * G x) = 0.
Proof.
  intros M. apply sum_zero. intros y Hy. destruct (product_start real t (Words J) y Hy) as (s & o' & F & _).
  assert (E : fst y = (fst s, [0%nat], fst o')) by exact F. rewrite E.
  transitivity (snd y * (0 * G (fst s, [0%nat], fst o'))); [|ring]. do 2 f_equal.
  etransitivity; [apply sees_word|]. destruct (ended t (fst s)); auto. destruct m; [contradiction|auto].
Qed.
Lemma expect_shown k (m o : nat) (g : spot -> R) : (m < K)%nat ->
  expect (P := PK) spread k (fun x => sees (P := PK) x ([m], o) * lift g x)
  = expect (P := P3) pi k (fun x => sees (P := P3) x ([class m], o) * g x) / size (class m).
Proof.
  intros M. destruct (Nat.eq_dec (class m) 1) as [C|C].
  - destruct k as [|k]; cbn [expect].
    + rewrite (start_row K (lift g) m o) by (intros ->; discriminate).
      rewrite (start_row 3 g (class m) o) by lia. unfold Rdiv. ring.
    + rewrite <- expect_lift. unfold Rdiv. rewrite Rmult_comm, <- expect_scal.
      apply expect_ext. intros [[s m'] o']. unfold lift at 2. cbn [fst snd]. unfold go.
      change (terminal PK (s, m', o')) with (ended t s).
      change (terminal P3 (s, [class (hd 0%nat m')], o')) with (ended t s).
      destruct (ended t s); [ring|].
      change (omega PK (s, m', o')) with (ret (m', o')).
      change (omega P3 (s, [class (hd 0%nat m')], o')) with (ret ([class (hd 0%nat m')], o')).
      rewrite !mean_ret, !choose_words, <- sum_scal. apply sum_ext. intros a.
      etransitivity; [apply (one_word K (fun w => spread (m', o') (a, w)) (lift g) s m' o' a m o M)|].
      etransitivity; [|apply f_equal; symmetry;
        apply (one_word 3 (fun c => pi ([class (hd 0%nat m')], o') (a, c)) g s _ o' a (class m) o); lia].
      set (A := arrive s a (fun _ s' o'' =>
        (if ended t s' then 0 else if Nat.eqb o'' o then 1 else 0) * g (s', [class m], o''))).
      set (x := pi ([class (hd 0%nat m')], o') (a, class m)).
      change (x / size (class m) * A = / size (class m) * (x * A)). unfold Rdiv. ring.
  - rewrite <- expect_lift.
    replace (size (class m)) with 1 by (unfold size; destruct (Nat.eqb_spec (class m) 1); [contradiction|auto]).
    unfold Rdiv. rewrite Rinv_1, Rmult_1_r. apply expect_words. intros s w o' W. unfold lift. cbn [fst snd hd]. f_equal.
    etransitivity; [apply (sees_word K)|]. etransitivity; [|symmetry; apply (sees_word 3)].
    rewrite (class_same w m); auto.
Qed.
Variable T : nat.
Lemma behind_spread m o g : (m < K)%nat ->
  behind_n (P := PK) 1 spread T ([m], o) (lift g) = behind_n (P := P3) 1 pi T ([class m], o) g / size (class m).
Proof.
  intros M. unfold behind_n, sumn, Rdiv. rewrite <- sum_scal_r. apply sum_ext. intros k.
  rewrite pow1, !Rmult_1_l. apply expect_shown. auto.
Qed.
Lemma visits_spread m o : (m < K)%nat ->
  visits (P := PK) T spread ([m], o) = visits (P := P3) T pi ([class m], o) / size (class m).
Proof.
  intros M.
  assert (V : forall P (q : policy P) y, visits T q y = behind_n 1 q T y (fun _ => 1)).
  { intros P q y. apply sumn_ext. intros k _. f_equal. apply expect_ext. intros; ring. }
  rewrite !V. apply (behind_spread m o (fun _ => 1)). auto.
Qed.
Lemma q_spread m o a w : (m < K)%nat -> visits (P := P3) T pi ([class m], o) <> 0 ->
  q (P := PK) T spread ([m], o) (a, w) = q (P := P3) T pi ([class m], o) (a, class w).
Proof.
  intros M V. unfold q. rewrite visits_spread by auto.
  assert (X : behind_n (P := PK) 1 spread T ([m], o) (fun s => qn (P := PK) spread T s (a, w))
    = behind_n (P := P3) 1 pi T ([class m], o) (fun s => qn (P := P3) pi T s (a, class w)) / size (class m)).
  { etransitivity; [|apply (behind_spread m o (fun s => qn (P := P3) pi T s (a, class w)) M)].
    apply sumn_ext. intros k _. f_equal. apply expect_ext. intros x. f_equal. unfold qn.
    etransitivity; [|apply (next_lift (vn (P := P3) pi T) x a w)].
    apply mean_ext. intros y. rewrite vn_lift. auto. }
  etransitivity; [apply (f_equal (fun z => z / _) X)|].
  pose proof (others_size m M) as S. revert V S.
  generalize (behind_n (P := P3) 1 pi T ([class m], o) (fun s => qn (P := P3) pi T s (a, class w))) as x.
  generalize (visits (P := P3) T pi ([class m], o)) as v. generalize (size (class m)) as z.
  intros. field. auto.
Qed.
(* greedy goes to the first or to the last word *)
Theorem greedy_spread m o a c : (0 < tacts t)%nat -> (m < K)%nat -> (c = 0 \/ c = 2)%nat ->
  0 < visits (P := P3) T pi ([class m], o) ->
  greedy (P := P3) T (by_write (tacts t) 3) pi ([class m], o) = (a, c) ->
  0 < visits (P := PK) T spread ([m], o) /\
  greedy (P := PK) T (by_write (tacts t) K) spread ([m], o) = (a, word c).
Proof.
  intros A M C V G. split.
  - rewrite visits_spread by auto. apply Rdiv_lt_0_compat; auto.
    assert (size (class m) <> 0) by (apply others_size; auto).
    assert (0 <= size (class m)) by (unfold size; destruct (Nat.eqb _ _); [apply pos_INR|lra]). lra.
  - unfold greedy in *.
    apply (argmax_wins (P := P3) preferred preferred_asym) in G;
      [|rewrite by_write_list by lia; apply sorted_higher_writes].
    apply (argmax_wins (P := PK) preferred preferred_asym);
      [rewrite by_write_list by lia; apply sorted_higher_writes|].
    rewrite by_write_list in * by lia. destruct G as [I W].
    apply in_higher_writes in I. destruct (class_of_word c C) as [CW LW].
    split; [apply in_higher_writes; lia|]. intros [b w] J D. apply in_higher_writes in J.
    rewrite !q_spread, CW by (auto; lra).
    assert (X : (b, class w) <> (a, c)).
    { intros E. injection E as -> E. apply D. f_equal. rewrite <- E. apply class_word; [lia|].
      destruct C; lia. }
    destruct (W (b, class w)) as [L|[L F]]; auto.
    { apply in_higher_writes. pose proof (class_range w). lia. }
    right. split; auto. unfold preferred in *. cbn [fst snd] in *.
    pose proof (class_word w ltac:(lia)) as Y.
    destruct F as [F|[F1 F2]].
    + left. destruct C as [-> | ->]; [lia|]. change (w < K - 1)%nat.
      assert (w <> (K - 1)%nat); [|lia]. intros ->. pose proof (class_of_word 2 ltac:(auto)) as [Z _].
      change (class (K - 1) = 2%nat) in Z. lia.
    + right. rewrite <- F1 in Y. split; auto. symmetry. apply Y. destruct C; lia.
Qed.
End Classes.

(** * Certificates *)

Section Certificate.
Variables (t : task poly) (rows : table_of poly) (T : nat) (i : nat).   (* the i-th name is 2^-k *)
(* the rows of the other words are there from k = 2 on *)
Definition below_half (b : box) : box := set b i (fst (nth i b (None, None)), Some (false, 1 # 2)).
Definition is_other (o : row) : bool := same_row (fst o, 0%nat) ([1%nat], 0%nat).
Definition check_class (n : nat) (b : box) (x : winner) : bool :=
  let '(m, o) := row_of x in let '(a, c) := act_of x in
  (Nat.eqb c 0 || Nat.eqb c 2) &&
  match m with [m'] => Nat.ltb m' 3 | _ => false end &&
  check_winner t (Words 3) rows T n (if is_other (row_of x) then below_half b else b) x.
Definition check_classes (n : nat) (b : box) (l : list winner) : bool :=
  all_end t T && Nat.ltb i (length b) && Nat.ltb 0 (tacts t) && Nat.leb (length b) n &&
  forallb (fun y => forallb (fun z => negb (Nat.eqb (snd (fst z)) 1) || null (put i (1 # 2) (snd z))) (snd y)) rows &&
  forallb (check_class n b) l.
Theorem classes_right b l k e : check_classes (length e) b l = true -> (1 <= k)%nat ->
  nth i e 0 = / INR (2 ^ k) -> inside b e ->
  let P := product (at_ e) t (Words (2 ^ k)) in
  let pi : policy P := spread (2 ^ k) (to_policy (at_ e) zero t (Words 3) rows) in
  horizon P T /\
  forall m c o a d, In (([c], o), (a, d)) (map (fun x => (row_of x, act_of x)) l) ->
    (m < 2 ^ k)%nat -> class (2 ^ k) m = c ->
    0 < visits (P := P) T pi ([m], o) /\
    greedy (P := P) T (by_write (tacts t) (2 ^ k)) pi ([m], o) = (a, word (2 ^ k) d).
Proof.
  intros H Hk Y B. cbv zeta. unfold check_classes in H.
  apply andb_prop in H as [H W]. apply andb_prop in H as [H Z]. apply andb_prop in H as [H L].
  apply andb_prop in H as [H A]. apply andb_prop in H as [H0 Hi].
  apply Nat.ltb_lt in Hi, A. apply Nat.leb_le in L. apply inside_box in B; auto.
  assert (K2 : (2 <= 2 ^ k)%nat) by (change 2%nat with (2 ^ 1)%nat at 1; apply Nat.pow_le_mono_r; lia).
  split; [apply horizon_right; auto|]. intros m c o a d I M C.
  apply in_map_iff in I as (x & E & I). rewrite forallb_forall in W. specialize (W x I).
  unfold check_class in W. injection E as E1 E2. rewrite E1, E2 in W.
  apply andb_prop in W as [W X]. apply andb_prop in W as [D _].
  assert (Dd : (d = 0 \/ d = 2)%nat).
  { apply orb_prop in D as [D|D]; apply Nat.eqb_eq in D; auto. }
  assert (O : (2 ^ k = 2)%nat -> forall (o : row) (a : nat), to_policy (at_ e) zero t (Words 3) rows o (a, 1%nat) = 0).
  { intros F o' a'. unfold to_policy, chance.
    assert (V : nth i e 0 = Q2R (1 # 2)).
    { rewrite Y, F. unfold Q2R. simpl. lra. }
    destruct (look_in same_row rows [] o') as [->|[y Hy]]; [auto|].
    rewrite forallb_forall in Z. specialize (Z _ Hy). cbn [snd] in Z. rewrite forallb_forall in Z.
    revert Z. generalize (look same_row rows [] o') as l'. clear Hy. intros l' Z.
    induction l' as [|[u v] l' IH]; [auto|]. cbn [look]. destruct (same_act (a', 1%nat) u) eqn:S.
    - apply same_act_eq in S. subst u. specialize (Z _ (or_introl eq_refl)). cbn [fst snd] in Z.
      apply orb_prop in Z as [Z|Z]; [discriminate|]. apply (null_at e) in Z.
      rewrite <- (put_at e i (1 # 2) v); auto. lia.
    - apply IH. intros z Hz. apply Z. right. auto. }
  assert (BB : in_box (if is_other (row_of x) then below_half b else b) e).
  { destruct (is_other (row_of x)) eqn:U; auto. unfold below_half. apply in_box_set; auto; [apply B|].
    cbn [snd below]. rewrite Y. unfold Q2R. cbn [Qnum Qden].
    rewrite E1 in U. unfold is_other in U. cbn [fst] in U. apply same_row_eq in U. injection U as U.
    assert (F : (2 < 2 ^ k)%nat).
    { rewrite U in C. clear - C M K2. destruct (Nat.eq_dec (2 ^ k) 2) as [F|]; [|lia]. exfalso.
      rewrite F in *. destruct m as [|[|]]; try lia; discriminate. }
    apply lt_INR in F. simpl (INR 2) in F. rewrite Rmult_1_l.
    apply Rinv_lt_contravar; [|exact F]. apply Rmult_lt_0_compat; lra. }
  rewrite E1 in BB. destruct (winner_right_in t (Words 3) rows T _ x e X BB) as [V G].
  rewrite E1, E2 in *. subst c.
  apply (greedy_spread (at_ e) t (2 ^ k) K2 _ O T m o a d); auto.
Qed.
End Certificate.
