(* Polynomials with rational coefficients, by computation: sums and products, formulas written out, and
   proofs that a polynomial is positive on a box. *)
From Coq Require Import Reals Lra Lia List Bool Arith QArith Qreals.
Import ListNotations.
Open Scope R_scope.

(** * Terms *)

(* c x_0^k_0 x_1^k_1 ..., the exponents as a list; the values of the names are a list of reals *)
Definition poly := list (Q * list nat).
Definition zero : poly := [].
Fixpoint power (e : list R) (m : list nat) : R :=
  match e with [] => 1 | x :: e' => x ^ hd 0%nat m * power e' (tl m) end.
Fixpoint at_ (e : list R) (f : poly) : R :=
  match f with [] => 0 | (c, m) :: g => Q2R c * power e m + at_ e g end.

Fixpoint compare (m n : list nat) : comparison :=
  match m, n with
  | [], [] => Eq
  | [], _ => Lt
  | _, [] => Gt
  | i :: m', j :: n' => match Nat.compare i j with Eq => compare m' n' | c => c end
  end.
Lemma compare_eq m n : compare m n = Eq -> m = n.
Proof.
  revert n. induction m as [|i m IH]; intros [|j n]; simpl; try discriminate; auto.
  destruct (Nat.compare i j) eqn:C; try discriminate. intros H. apply Nat.compare_eq in C.
  rewrite C, (IH n H). auto.
Qed.
(* fewer divisors to look for: most numbers are whole *)
Definition short (q : Q) : Q := match Qden q with xH => q | _ => Qred q end.
(* terms are kept in order *)
Fixpoint plus (f : poly) : poly -> poly :=
  fix plus_f (g : poly) : poly :=
    match f, g with
    | [], _ => g
    | _, [] => f
    | (c, m) :: f', (d, n) :: g' =>
        match compare m n with
        | Eq => let x := short (c + d) in if Qeq_bool x 0 then plus f' g' else (x, m) :: plus f' g'
        | Lt => (c, m) :: plus f' g
        | Gt => (d, n) :: plus_f g'
        end
    end.
Fixpoint join (m n : list nat) : list nat :=
  match m, n with
  | [], _ => n
  | _, [] => m
  | i :: m', j :: n' => (i + j)%nat :: join m' n'
  end.
Definition times_term (c : Q) (m : list nat) (f : poly) : poly :=
  map (fun y => (short (c * fst y), join m (snd y))) f.
(* by halves, so that sums are of equal length *)
Fixpoint halves (f : poly) : poly * poly :=
  match f with [] => ([], []) | y :: g => let (a, b) := halves g in (y :: b, a) end.
Fixpoint times_in_turn (f g : poly) : poly :=
  match f with [] => [] | (c, m) :: f' => plus (times_term c m g) (times_in_turn f' g) end.
Fixpoint times_by (n : nat) (f g : poly) : poly :=
  match n, f with
  | S k, _ :: _ :: _ => let (a, b) := halves f in plus (times_by k a g) (times_by k b g)
  | _, _ => times_in_turn f g
  end.
Definition times (f g : poly) : poly := times_by (length f) f g.
Definition const (c : Q) : poly := if Qeq_bool c 0 then [] else [(Qred c, [])].
Definition minus (f g : poly) : poly := plus f (times_term (-1) [] g).
Definition same (f g : poly) : bool := match minus f g with [] => true | _ => false end.
Definition null (f : poly) : bool := match f with [] => true | _ => false end.

Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR. apply Qred_correct. Qed.
Lemma Q2R_0 : Q2R 0 = 0.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_1 : Q2R 1 = 1.
Proof. unfold Q2R. simpl. lra. Qed.
Lemma Q2R_zero q : Qeq_bool q 0 = true -> Q2R q = 0.
Proof. intros H. apply Qeq_bool_iff, Qeq_eqR in H. rewrite H. apply Q2R_0. Qed.
Lemma short_R q : Q2R (short q) = Q2R q.
Proof. unfold short. destruct (Qden q); auto; apply Q2R_red. Qed.
Lemma plus_at e f g : at_ e (plus f g) = at_ e f + at_ e g.
Proof.
  revert g. induction f as [|[c m] f IH]; [destruct g; simpl; ring|].
  induction g as [|[d n] g IHg]; [simpl; ring|]. cbn [plus].
  destruct (compare m n) eqn:C; cbn [at_].
  - apply compare_eq in C. subst n. cbv zeta. destruct (Qeq_bool (short (c + d)) 0) eqn:Z.
    + apply Q2R_zero in Z. rewrite short_R, Q2R_plus in Z. rewrite IH.
      replace (Q2R c * power e m + at_ e f + (Q2R d * power e m + at_ e g))
        with ((Q2R c + Q2R d) * power e m + (at_ e f + at_ e g)) by ring. rewrite Z. ring.
    + cbn [at_]. rewrite short_R, Q2R_plus, IH. ring.
  - rewrite IH. cbn [at_]. ring.
  - change (at_ e ((d, n) :: plus ((c, m) :: f) g) = Q2R c * power e m + at_ e f + (Q2R d * power e n + at_ e g)).
    cbn [at_]. rewrite IHg. cbn [at_]. ring.
Qed.
Lemma power_nil e : power e [] = 1.
Proof. induction e; simpl; auto. rewrite IHe. ring. Qed.
Lemma join_power e m n : power e (join m n) = power e m * power e n.
Proof.
  revert m n. induction e as [|x e IH]; intros [|i m] [|j n]; simpl;
    try (rewrite ?power_nil; ring). rewrite IH, pow_add. ring.
Qed.
Lemma times_term_at e c m f : at_ e (times_term c m f) = Q2R c * power e m * at_ e f.
Proof.
  induction f as [|[d n] f IH]; [simpl; ring|]. unfold times_term in *.
  cbn [map at_ fst snd]. rewrite IH, short_R, Q2R_mult, join_power. ring.
Qed.
Lemma times_in_turn_at e f g : at_ e (times_in_turn f g) = at_ e f * at_ e g.
Proof.
  induction f as [|[c m] f IH]; cbn [times_in_turn at_]; [ring|].
  rewrite plus_at, times_term_at, IH. ring.
Qed.
Lemma halves_at e f : at_ e (fst (halves f)) + at_ e (snd (halves f)) = at_ e f.
Proof.
  induction f as [|[c m] f IH]; [simpl; ring|]. cbn [halves]. destruct (halves f) as [a b].
  cbn [fst snd at_] in *. lra.
Qed.
Lemma times_at e f g : at_ e (times f g) = at_ e f * at_ e g.
Proof.
  unfold times. generalize (length f) as n. intros n. revert f. induction n as [|n IH]; intros f.
  - apply times_in_turn_at.
  - destruct f as [|y [|z f]]; try apply times_in_turn_at. cbn [times_by].
    pose proof (halves_at e (y :: z :: f)) as H. destruct (halves (y :: z :: f)) as [a b].
    cbn [fst snd] in H. rewrite plus_at, !IH, <- H. ring.
Qed.
Lemma const_at e c : at_ e (const c) = Q2R c.
Proof.
  unfold const. destruct (Qeq_bool c 0) eqn:Z; cbn [at_].
  - rewrite (Q2R_zero c Z). auto.
  - rewrite Q2R_red, power_nil. ring.
Qed.
Lemma minus_at e f g : at_ e (minus f g) = at_ e f - at_ e g.
Proof.
  unfold minus. rewrite plus_at, times_term_at, power_nil.
  replace (Q2R (-1)) with (-1) by (unfold Q2R; simpl; lra). ring.
Qed.
Lemma same_at e f g : same f g = true -> at_ e f = at_ e g.
Proof.
  unfold same. intros H. pose proof (minus_at e f g) as M.
  destruct (minus f g); [|discriminate]. simpl in M. lra.
Qed.
Lemma null_at e f : null f = true -> at_ e f = 0.
Proof. destruct f; [auto|discriminate]. Qed.

(** * Formulas *)

Inductive formula :=
  | Int (z : Z) | Name (i : nat) | Plus (f g : formula) | Minus (f g : formula) | Opp (f : formula)
  | Times (f g : formula) | Over (f g : formula) | Power (f : formula) (n : nat).
Fixpoint value (e : list R) (f : formula) : R :=
  match f with
  | Int z => IZR z
  | Name i => nth i e 0
  | Plus f g => value e f + value e g
  | Minus f g => value e f - value e g
  | Opp f => - value e f
  | Times f g => value e f * value e g
  | Over f g => value e f / value e g
  | Power f n => value e f ^ n
  end.
(* wherever nothing is divided by 0 *)
Fixpoint defined (e : list R) (f : formula) : Prop :=
  match f with
  | Int _ | Name _ => True
  | Plus f g | Minus f g | Times f g => defined e f /\ defined e g
  | Over f g => defined e f /\ defined e g /\ value e g <> 0
  | Opp f | Power f _ => defined e f
  end.
Definition one : poly := [(1%Q, [])].
Fixpoint raise (f : poly) (n : nat) : poly := match n with O => one | S k => times f (raise f k) end.
Definition name (i : nat) : poly := [(1%Q, repeat 0%nat i ++ [1%nat])].
Definition over_same (f g : poly * poly) (h : poly -> poly -> poly) : poly * poly :=
  if same (snd f) (snd g) then (h (fst f) (fst g), snd f)
  else (h (times (fst f) (snd g)) (times (fst g) (snd f)), times (snd f) (snd g)).
(* a quotient of polynomials *)
Fixpoint quotient (f : formula) : poly * poly :=
  match f with
  | Int z => (const (inject_Z z), one)
  | Name i => (name i, one)
  | Plus f g => over_same (quotient f) (quotient g) plus
  | Minus f g => over_same (quotient f) (quotient g) minus
  | Opp f => (times_term (-1) [] (fst (quotient f)), snd (quotient f))
  | Times f g => let x := quotient f in let y := quotient g in (times (fst x) (fst y), times (snd x) (snd y))
  | Over f g =>
      let x := quotient f in
      match quotient g with
      | ([(c, [])], [(d, [])]) => (times_term (d / c) [] (fst x), snd x)
      | y => (times (fst x) (snd y), times (snd x) (fst y))
      end
  | Power f n => let x := quotient f in (raise (fst x) n, raise (snd x) n)
  end.
Lemma one_at e : at_ e one = 1.
Proof. unfold one. cbn [at_]. rewrite power_nil, Q2R_1. ring. Qed.
Lemma name_at e i : at_ e (name i) = nth i e (if Nat.ltb i (length e) then 0 else 1).
Proof.
  unfold name. cbn [at_]. rewrite Q2R_1.
  assert (H : power e (repeat 0%nat i ++ [1%nat]) = nth i e (if Nat.ltb i (length e) then 0 else 1)).
  { revert i. induction e as [|x e IH]; intros i; [destruct i; auto|].
    destruct i as [|i]; cbn [power repeat app hd tl nth length].
    - rewrite power_nil. ring.
    - rewrite IH. simpl pow. rewrite Rmult_1_l. auto. }
  rewrite H. ring.
Qed.
Lemma raise_at e f n : at_ e (raise f n) = at_ e f ^ n.
Proof. induction n; cbn [raise pow]; [apply one_at|]. rewrite times_at, IHn. auto. Qed.
Fixpoint names_below (n : nat) (f : formula) : bool :=
  match f with
  | Int _ => true
  | Name i => Nat.ltb i n
  | Plus f g | Minus f g | Times f g | Over f g => names_below n f && names_below n g
  | Opp f | Power f _ => names_below n f
  end.
Lemma over_same_at e f g h k : at_ e (snd f) <> 0 -> at_ e (snd g) <> 0 ->
  (forall x y, at_ e (h x y) = k (at_ e x) (at_ e y)) ->
  (forall x y z, z <> 0 -> k x y / z = k (x / z) (y / z)) ->
  at_ e (snd (over_same f g h)) <> 0 /\
  at_ e (fst (over_same f g h)) / at_ e (snd (over_same f g h)) =
  k (at_ e (fst f) / at_ e (snd f)) (at_ e (fst g) / at_ e (snd g)).
Proof.
  intros F G H K. unfold over_same. destruct (same (snd f) (snd g)) eqn:S; cbn [fst snd].
  - apply (same_at e) in S. rewrite H, K, <- S by auto. auto.
  - rewrite H, !times_at. split; [apply Rmult_integral_contrapositive; auto|].
    rewrite K by (apply Rmult_integral_contrapositive; auto). f_equal; field; auto.
Qed.
Lemma quotient_at e f : names_below (length e) f = true -> defined e f ->
  at_ e (snd (quotient f)) <> 0 /\ at_ e (fst (quotient f)) / at_ e (snd (quotient f)) = value e f.
Proof.
  induction f; cbn [names_below defined quotient value]; intros N D;
    try (apply andb_prop in N as [N1 N2]); try match type of D with _ /\ _ => destruct D as [D1 D2] end;
    try (destruct (IHf1 N1 D1) as [A1 B1]); try (destruct (IHf N D) as [A B]).
  - cbn [fst snd]. rewrite one_at, const_at. split; [lra|]. unfold Q2R, inject_Z. simpl. field.
  - cbn [fst snd]. rewrite one_at, name_at, N. split; [lra|field].
  - destruct (IHf2 N2 D2) as [A2 B2]. rewrite <- B1, <- B2.
    apply (over_same_at e _ _ plus Rplus); auto; [apply plus_at|]. intros; field; auto.
  - destruct (IHf2 N2 D2) as [A2 B2]. rewrite <- B1, <- B2.
    apply (over_same_at e _ _ minus Rminus); auto; [apply minus_at|]. intros; field; auto.
  - cbn [fst snd]. rewrite times_term_at, power_nil, <- B. split; auto.
    replace (Q2R (-1)) with (-1) by (unfold Q2R; simpl; lra). field; auto.
  - destruct (IHf2 N2 D2) as [A2 B2]. cbn [fst snd]. rewrite !times_at, <- B1, <- B2.
    split; [apply Rmult_integral_contrapositive; auto|]. field; auto.
  - destruct D2 as [D2 Z]. destruct (IHf2 N2 D2) as [A2 B2]. cbv zeta.
    assert (Y : at_ e (fst (quotient f2)) <> 0).
    { intros Y. apply Z. rewrite <- B2, Y. field; auto. }
    rewrite <- B1, <- B2.
    assert (G : at_ e (snd (times (fst (quotient f1)) (snd (quotient f2)), times (snd (quotient f1)) (fst (quotient f2)))) <> 0
      /\ at_ e (times (fst (quotient f1)) (snd (quotient f2))) / at_ e (times (snd (quotient f1)) (fst (quotient f2)))
         = at_ e (fst (quotient f1)) / at_ e (snd (quotient f1)) / (at_ e (fst (quotient f2)) / at_ e (snd (quotient f2)))).
    { cbn [fst snd]. rewrite !times_at. split; [apply Rmult_integral_contrapositive; auto|]. field; auto. }
    destruct (quotient f2) as [[|[c [|? ?]] [|? ?]] [|[d [|? ?]] [|? ?]]]; try exact G. clear G.
    cbn [fst snd at_] in *. rewrite power_nil, Rmult_1_r, Rplus_0_r in *.
    split; auto. rewrite times_term_at, power_nil. unfold Qdiv. rewrite Q2R_mult, Q2R_inv.
    + field; auto.
    + intros X. apply Y. apply Qeq_eqR in X. rewrite X. apply Q2R_0.
  - cbn [fst snd]. rewrite !raise_at, <- B. split; [apply pow_nonzero; auto|].
    unfold Rdiv. rewrite Rpow_mult_distr, pow_inv by auto. auto.
Qed.
(* two formulas are equal wherever both are defined; denominators may differ by a factor *)
Definition ratio (f g : poly) : Q := match f, g with (c, _) :: _, (d, _) :: _ => (d / c)%Q | _, _ => 1%Q end.
Definition check_equal (n : nat) (f g : formula) : bool :=
  let x := quotient f in let y := quotient g in
  names_below n f && names_below n g &&
  let r := ratio (snd x) (snd y) in
  if same (times_term r [] (snd x)) (snd y) then same (times_term r [] (fst x)) (fst y)
  else same (times (fst x) (snd y)) (times (fst y) (snd x)).
Theorem equal_right e f g : check_equal (length e) f g = true ->
  defined e f -> defined e g -> value e f = value e g.
Proof.
  unfold check_equal. cbv zeta. intros H F G. apply andb_prop in H as [H S]. apply andb_prop in H as [NF NG].
  destruct (quotient_at e f NF F) as [A B], (quotient_at e g NG G) as [C D].
  assert (X : at_ e (fst (quotient f)) * at_ e (snd (quotient g)) = at_ e (fst (quotient g)) * at_ e (snd (quotient f))).
  { revert S. set (r := ratio _ _). intros S.
    destruct (same (times_term r [] (snd (quotient f))) (snd (quotient g))) eqn:Y; apply (same_at e) in S.
    - apply (same_at e) in Y. rewrite times_term_at in S, Y. rewrite <- S, <- Y. ring.
    - rewrite !times_at in S. auto. }
  rewrite <- B, <- D.
  apply Rmult_eq_reg_r with (at_ e (snd (quotient f)) * at_ e (snd (quotient g))).
  - transitivity (at_ e (fst (quotient f)) * at_ e (snd (quotient g))); [field; auto|].
    rewrite X. field; auto.
  - apply Rmult_integral_contrapositive; auto.
Qed.

(** * Positive on a box *)

(* the ends of each name's interval, if it has them; true if the end belongs to it *)
Definition interval := (option (bool * Q) * option (bool * Q))%type.
Definition box := list interval.
Definition above (x : R) (y : option (bool * Q)) : Prop :=
  match y with None => True | Some (true, l) => Q2R l <= x | Some (false, l) => Q2R l < x end.
Definition below (x : R) (y : option (bool * Q)) : Prop :=
  match y with None => True | Some (true, h) => x <= Q2R h | Some (false, h) => x < Q2R h end.
Definition in_box (b : box) (e : list R) : Prop :=
  forall i, above (nth i e 0) (fst (nth i b (None, None))) /\ below (nth i e 0) (snd (nth i b (None, None))).

(* a product of c and (x_i - l_i)^j (h_i - x_i)^k over all i *)
Definition piece := (Q * list (nat * nat))%type.
Inductive proof :=
  | Pieces (l : list piece)                          (* f is the sum of these, none of them negative *)
  | Cut (i : nat) (m : Q) (p q : proof)              (* x_i <= m, and x_i > m *)
  | AtLow (i : nat) (p q : proof)                    (* x_i = l_i, and x_i > l_i *)
  | AtHigh (i : nat) (p q : proof).
Definition end_of (y : option (bool * Q)) : Q := match y with Some (_, x) => x | None => 0 end.
Definition has_end (y : option (bool * Q)) : bool := match y with Some _ => true | None => false end.
Definition is_open (y : option (bool * Q)) : bool := match y with Some (false, _) => true | _ => false end.
Fixpoint product_of (b : box) (i : nat) (l : list (nat * nat)) : poly :=
  match l with
  | [] => one
  | (j, k) :: l' =>
      let y := nth i b (None, None) in
      times (times (raise (minus (name i) (const (end_of (fst y)))) j)
                   (raise (minus (const (end_of (snd y))) (name i)) k)) (product_of b (S i) l')
  end.
Fixpoint fits (b : box) (i : nat) (l : list (nat * nat)) : bool :=
  match l with
  | [] => true
  | (j, k) :: l' =>
      let y := nth i b (None, None) in
      (Nat.eqb j 0 || has_end (fst y)) && (Nat.eqb k 0 || has_end (snd y)) && fits b (S i) l'
  end.
Fixpoint fits_strictly (b : box) (i : nat) (l : list (nat * nat)) : bool :=
  match l with
  | [] => true
  | (j, k) :: l' =>
      let y := nth i b (None, None) in
      (Nat.eqb j 0 || is_open (fst y)) && (Nat.eqb k 0 || is_open (snd y)) && fits_strictly b (S i) l'
  end.
Fixpoint set {T} (l : list T) (i : nat) (x : T) : list T :=
  match l, i with
  | [], _ => []
  | _ :: k, O => x :: k
  | y :: k, S j => y :: set k j x
  end.
Fixpoint raise_q (x : Q) (k : nat) : Q := match k with O => 1%Q | S j => (x * raise_q x j)%Q end.
(* no list of exponents ends in 0: equal terms have equal lists *)
Definition trim (k : nat) (m : list nat) : list nat := match k, m with O, [] => [] | _, _ => k :: m end.
Fixpoint put_in (i : nat) (x : Q) (m : list nat) {struct m} : Q * list nat :=
  match m, i with
  | [], _ => (1%Q, [])
  | k :: m', O => (raise_q x k, trim 0 m')
  | k :: m', S j => let y := put_in j x m' in (fst y, trim k (snd y))
  end.
Fixpoint put (i : nat) (x : Q) (f : poly) : poly :=
  match f with
  | [] => []
  | (c, m) :: g => let y := put_in i x m in plus (times_term 1 (snd y) (const (c * fst y))) (put i x g)
  end.
Definition strictly (q : Q) : bool := negb (Qle_bool q 0).
Fixpoint check_positive (n : nat) (b : box) (strict : bool) (f : poly) (w : proof) : bool :=
  match w with
  | Pieces l =>
      same f (fold_right (fun y g => plus (times_term (fst y) [] (product_of b 0 (snd y))) g) [] l)
      && forallb (fun y => Nat.leb (length (snd y)) n && Qle_bool 0 (fst y) && fits b 0 (snd y)) l
      && (negb strict || existsb (fun y => strictly (fst y) && fits_strictly b 0 (snd y)) l)
  | Cut i m p q =>
      let y := nth i b (None, None) in
      Nat.ltb i (length b)
      && check_positive n (set b i (fst y, Some (true, m))) strict f p
      && check_positive n (set b i (Some (false, m), snd y)) strict f q
  | AtLow i p q =>
      let y := nth i b (None, None) in
      Nat.ltb i (length b) && has_end (fst y)
      && check_positive n b strict (put i (end_of (fst y)) f) p
      && check_positive n (set b i (Some (false, end_of (fst y)), snd y)) strict f q
  | AtHigh i p q =>
      let y := nth i b (None, None) in
      Nat.ltb i (length b) && has_end (snd y)
      && check_positive n b strict (put i (end_of (snd y)) f) p
      && check_positive n (set b i (fst y, Some (false, end_of (snd y)))) strict f q
  end.

Lemma above_low x y : above x y -> has_end y = true -> 0 <= x - Q2R (end_of y).
Proof. destruct y as [[[] l]|]; simpl; intros; try discriminate; lra. Qed.
Lemma below_high x y : below x y -> has_end y = true -> 0 <= Q2R (end_of y) - x.
Proof. destruct y as [[[] l]|]; simpl; intros; try discriminate; lra. Qed.
Lemma above_open x y : above x y -> is_open y = true -> 0 < x - Q2R (end_of y).
Proof. destruct y as [[[] l]|]; simpl; intros; try discriminate; lra. Qed.
Lemma below_open x y : below x y -> is_open y = true -> 0 < Q2R (end_of y) - x.
Proof. destruct y as [[[] l]|]; simpl; intros; try discriminate; lra. Qed.
Lemma name_in e i : (i < length e)%nat -> at_ e (name i) = nth i e 0.
Proof. intros H. rewrite name_at. apply Nat.ltb_lt in H. rewrite H. auto. Qed.
Lemma product_nonneg b e i l : in_box b e -> (i + length l <= length e)%nat ->
  fits b i l = true -> 0 <= at_ e (product_of b i l).
Proof.
  intros B. revert i. induction l as [|[j k] l IH]; intros i L F; cbn [product_of fits length] in *.
  - rewrite one_at. lra.
  - cbv zeta in F. apply andb_prop in F as [F F3]. apply andb_prop in F as [F1 F2].
    destruct (B i) as [Lo Hi].
    rewrite !times_at, !raise_at, !minus_at, !const_at, name_in by lia.
    apply Rmult_le_pos; [apply Rmult_le_pos|apply IH; auto; lia].
    + apply orb_prop in F1 as [F1|F1]; [apply Nat.eqb_eq in F1; subst; simpl; lra|].
      apply pow_le, above_low; auto.
    + apply orb_prop in F2 as [F2|F2]; [apply Nat.eqb_eq in F2; subst; simpl; lra|].
      apply pow_le, below_high; auto.
Qed.
Lemma product_pos b e i l : in_box b e -> (i + length l <= length e)%nat ->
  fits_strictly b i l = true -> 0 < at_ e (product_of b i l).
Proof.
  intros B. revert i. induction l as [|[j k] l IH]; intros i L F; cbn [product_of fits_strictly length] in *.
  - rewrite one_at. lra.
  - cbv zeta in F. apply andb_prop in F as [F F3]. apply andb_prop in F as [F1 F2].
    destruct (B i) as [Lo Hi].
    rewrite !times_at, !raise_at, !minus_at, !const_at, name_in by lia.
    apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|apply IH; auto; lia].
    + apply orb_prop in F1 as [F1|F1]; [apply Nat.eqb_eq in F1; subst; simpl; lra|].
      apply pow_lt, above_open; auto.
    + apply orb_prop in F2 as [F2|F2]; [apply Nat.eqb_eq in F2; subst; simpl; lra|].
      apply pow_lt, below_open; auto.
Qed.
Lemma nth_set {T} (l : list T) i j x d : (i < length l)%nat ->
  nth j (set l i x) d = if Nat.eqb j i then x else nth j l d.
Proof.
  revert i j. induction l as [|y l IH]; intros i j H; simpl in H; [lia|].
  destruct i as [|i], j as [|j]; simpl; auto. apply IH. lia.
Qed.
Lemma length_set {T} (l : list T) i x : length (set l i x) = length l.
Proof. revert i. induction l; intros [|i]; simpl; auto. Qed.
Lemma in_box_set b e i y : in_box b e -> (i < length b)%nat ->
  above (nth i e 0) (fst y) -> below (nth i e 0) (snd y) -> in_box (set b i y) e.
Proof.
  intros B L A H j. rewrite nth_set by auto. destruct (Nat.eqb j i) eqn:J; [|apply B].
  apply Nat.eqb_eq in J. subst j. auto.
Qed.
Lemma Q2R_pow x k : Q2R (raise_q x k) = Q2R x ^ k.
Proof. induction k; simpl; [apply Q2R_1|]. rewrite Q2R_mult, IHk. auto. Qed.
Lemma power_trim x e k m : power (x :: e) (trim k m) = power (x :: e) (k :: m).
Proof. destruct k, m; auto. Qed.
Lemma put_in_power e i x m : (i < length e)%nat -> nth i e 0 = Q2R x ->
  power e m = Q2R (fst (put_in i x m)) * power e (snd (put_in i x m)).
Proof.
  revert i m. induction e as [|y e IH]; intros i m L H; simpl in L; [lia|].
  destruct m as [|k m]; [cbn [put_in fst snd]; rewrite Q2R_1; ring|].
  destruct i as [|i]; cbn [put_in fst snd].
  - cbn [nth] in H. subst y. rewrite Q2R_pow, power_trim. cbn [power hd tl]. simpl pow. ring.
  - rewrite power_trim. cbn [power hd tl]. rewrite (IH i m) by (auto; lia). ring.
Qed.
Lemma put_at e i x f : (i < length e)%nat -> nth i e 0 = Q2R x -> at_ e (put i x f) = at_ e f.
Proof.
  intros L H. induction f as [|[c m] f IH]; auto. cbn [put at_]. cbv zeta.
  rewrite plus_at, IH, times_term_at, const_at, Q2R_1, Q2R_mult, (put_in_power e i x m L H). ring.
Qed.
Definition sign (strict : bool) (x : R) : Prop := if strict then 0 < x else 0 <= x.
Theorem positive_right e w : forall b strict f, in_box b e -> (length b <= length e)%nat ->
  check_positive (length e) b strict f w = true -> sign strict (at_ e f).
Proof.
  induction w as [l|i m p IHp q IHq|i p IHp q IHq|i p IHp q IHq]; intros b strict f B L H;
    cbn [check_positive] in H; cbv zeta in H.
  - apply andb_prop in H as [H S]. apply andb_prop in H as [H N]. apply (same_at e) in H.
    rewrite H. clear f H.
    assert (G : 0 <= at_ e (fold_right (fun y g => plus (times_term (fst y) [] (product_of b 0 (snd y))) g) [] l)
      /\ (existsb (fun y => strictly (fst y) && fits_strictly b 0 (snd y)) l = true ->
          0 < at_ e (fold_right (fun y g => plus (times_term (fst y) [] (product_of b 0 (snd y))) g) [] l))).
    { clear S. induction l as [|[c y] l IH]; cbn [fold_right]; [split; [simpl; lra|discriminate]|].
      cbn [forallb fst snd] in N. apply andb_prop in N as [N N2]. apply andb_prop in N as [N N1].
      apply andb_prop in N as [N3 N4]. apply Nat.leb_le in N3. destruct (IH N2) as [I1 I2].
      rewrite plus_at, times_term_at, power_nil, Rmult_1_r. cbn [fst snd].
      assert (0 <= Q2R c) by (apply Qle_bool_iff, Qle_Rle in N4; rewrite Q2R_0 in N4; auto).
      assert (X : 0 <= Q2R c * at_ e (product_of b 0 y))
        by (apply Rmult_le_pos; auto; apply product_nonneg; auto).
      split; [lra|]. cbn [existsb fst snd]. intros K. apply orb_prop in K as [K|K]; [|specialize (I2 K); lra].
      apply andb_prop in K as [K1 K2].
      assert (0 < Q2R c * at_ e (product_of b 0 y)); [|lra].
      apply Rmult_lt_0_compat; [|apply product_pos; auto].
      unfold strictly in K1. apply negb_true_iff in K1. apply Rnot_le_lt. intros Y.
      rewrite <- Q2R_0 in Y. apply Rle_Qle, Qle_bool_iff in Y. congruence. }
    destruct G as [G1 G2]. destruct strict; cbn [negb orb sign] in *; auto.
  - apply andb_prop in H as [H Hq]. apply andb_prop in H as [Hi Hp]. apply Nat.ltb_lt in Hi.
    destruct (B i) as [Lo Up].
    destruct (Rle_lt_dec (nth i e 0) (Q2R m)) as [C|C].
    + apply (IHp _ strict f) in Hp; auto; [apply in_box_set; auto|rewrite length_set; auto].
    + apply (IHq _ strict f) in Hq; auto; [apply in_box_set; auto|rewrite length_set; auto].
  - apply andb_prop in H as [H Hq]. apply andb_prop in H as [H Hp]. apply andb_prop in H as [Hi He].
    apply Nat.ltb_lt in Hi. destruct (B i) as [Lo Up].
    pose proof (above_low _ _ Lo He) as G.
    destruct (Req_EM_T (nth i e 0) (Q2R (end_of (fst (nth i b (None, None)))))) as [C|C].
    + rewrite <- (put_at e i _ f ltac:(lia) C). apply (IHp b strict); auto.
    + apply (IHq _ strict f) in Hq; auto; [apply in_box_set; auto|rewrite length_set; auto].
      simpl. apply Rnot_le_lt. intros Y. apply C. lra.
  - apply andb_prop in H as [H Hq]. apply andb_prop in H as [H Hp]. apply andb_prop in H as [Hi He].
    apply Nat.ltb_lt in Hi. destruct (B i) as [Lo Up].
    pose proof (below_high _ _ Up He) as G.
    destruct (Req_EM_T (nth i e 0) (Q2R (end_of (snd (nth i b (None, None)))))) as [C|C].
    + rewrite <- (put_at e i _ f ltac:(lia) C). apply (IHp b strict); auto.
    + apply (IHq _ strict f) in Hq; auto; [apply in_box_set; auto|rewrite length_set; auto].
      simpl. apply Rnot_le_lt. intros Y. apply C. lra.
Qed.

(** * Statements of certificates *)

(* a formula that divides by numbers only, multiplied out *)
Fixpoint expand (n : nat) (f : formula) : option poly :=
  let both f g h := match expand n f, expand n g with Some x, Some y => Some (h x y) | _, _ => None end in
  match f with
  | Int z => Some (const (inject_Z z))
  | Name i => if Nat.ltb i n then Some (name i) else None
  | Plus f g => both f g plus
  | Minus f g => both f g minus
  | Opp f => option_map (times_term (-1) []) (expand n f)
  | Times f g => both f g times
  | Over f g =>
      match expand n f, expand n g with
      | Some x, Some [(c, [])] => if Qeq_bool c 0 then None else Some (times_term (/ c) [] x)
      | _, _ => None
      end
  | Power f k => option_map (fun x => raise x k) (expand n f)
  end.
Lemma expand_at e f : forall x, expand (length e) f = Some x -> value e f = at_ e x.
Proof.
  induction f; cbn [expand value]; intros x H.
  - injection H as <-. rewrite const_at. unfold Q2R, inject_Z. simpl. field.
  - destruct (Nat.ltb i (length e)) eqn:L; [|discriminate]. injection H as <-. rewrite name_at, L. auto.
  - destruct (expand _ f1), (expand _ f2); try discriminate. injection H as <-.
    rewrite plus_at, (IHf1 p), (IHf2 p0); auto.
  - destruct (expand _ f1), (expand _ f2); try discriminate. injection H as <-.
    rewrite minus_at, (IHf1 p), (IHf2 p0); auto.
  - destruct (expand _ f); try discriminate. injection H as <-.
    rewrite times_term_at, power_nil, (IHf p) by auto.
    replace (Q2R (-1)) with (-1) by (unfold Q2R; simpl; lra). ring.
  - destruct (expand _ f1), (expand _ f2); try discriminate. injection H as <-.
    rewrite times_at, (IHf1 p), (IHf2 p0); auto.
  - destruct (expand _ f1) as [y|]; try discriminate.
    destruct (expand _ f2) as [[|[c [|? ?]] [|? ?]]|]; try discriminate.
    destruct (Qeq_bool c 0) eqn:Z; [discriminate|]. injection H as <-.
    rewrite times_term_at, power_nil, (IHf1 y), (IHf2 [(c, [])]) by auto. cbn [at_].
    rewrite power_nil, Q2R_inv by (apply Qeq_bool_neq; auto). field.
    intros Y. rewrite <- Q2R_0 in Y. apply eqR_Qeq, Qeq_bool_iff in Y. congruence.
  - destruct (expand _ f); try discriminate. injection H as <-. rewrite raise_at, (IHf p); auto.
Qed.

Fixpoint inside (b : box) (e : list R) : Prop :=
  match b, e with
  | y :: b', x :: e' => (above x (fst y) /\ below x (snd y)) /\ inside b' e'
  | _, _ => True
  end.
Lemma inside_box b e : (length b <= length e)%nat -> inside b e -> in_box b e.
Proof.
  revert e. induction b as [|y b IH]; intros e L H i; [destruct i; simpl; auto|].
  destruct e as [|x e]; simpl in L; [lia|]. destruct H as [H1 H2].
  destruct i as [|i]; simpl; auto. apply IH; auto. lia.
Qed.
Definition check_sign (n : nat) (b : box) (strict : bool) (f : formula) (w : proof) : bool :=
  Nat.leb (length b) n &&
  match expand n f with Some x => check_positive n b strict x w | None => false end.
Theorem sign_right e b strict f w : check_sign (length e) b strict f w = true ->
  inside b e -> sign strict (value e f).
Proof.
  unfold check_sign. intros H B. apply andb_prop in H as [L H]. apply Nat.leb_le in L.
  destruct (expand (length e) f) as [x|] eqn:X; [|discriminate]. rewrite (expand_at e f x X).
  apply (positive_right e w b); auto. apply inside_box; auto.
Qed.

(* conditions that exclude one another *)
Inductive relation := Greater | NotLess | Equal.
Definition condition := (formula * relation * formula)%type.
Definition holds (e : list R) (c : condition) : Prop :=
  let '(f, r, g) := c in
  match r with Greater => value e f > value e g | NotLess => value e f >= value e g | Equal => value e f = value e g end.
Fixpoint all_hold (e : list R) (l : list condition) : Prop :=
  match l with [] => True | c :: k => holds e c /\ all_hold e k end.
Definition fact := (relation * poly)%type.
Definition is_fact (e : list R) (y : fact) : Prop :=
  match fst y with Greater => 0 < at_ e (snd y) | NotLess => 0 <= at_ e (snd y) | Equal => at_ e (snd y) = 0 end.
Fixpoint facts (n : nat) (l : list condition) : option (list fact) :=
  match l with
  | [] => Some []
  | (f, r, g) :: k =>
      match expand n f, expand n g, facts n k with
      | Some x, Some y, Some z => Some ((r, minus x y) :: z)
      | _, _, _ => None
      end
  end.
Fixpoint all_facts (e : list R) (l : list fact) : Prop :=
  match l with [] => True | y :: k => is_fact e y /\ all_facts e k end.
Lemma facts_right e l : forall k, facts (length e) l = Some k -> all_hold e l -> all_facts e k.
Proof.
  induction l as [|[[f r] g] l IH]; cbn [facts all_hold]; intros k H A.
  - injection H as <-. exact I.
  - destruct (expand _ f) as [x|] eqn:X; [|discriminate].
    destruct (expand _ g) as [y|] eqn:Y; [|discriminate].
    destruct (facts _ l) as [z|]; [|discriminate]. injection H as <-. destruct A as [A1 A2].
    split; [|apply IH; auto]. unfold holds in A1. unfold is_fact. cbn [fst snd].
    rewrite minus_at, <- (expand_at e f x X), <- (expand_at e g y Y). destruct r; lra.
Qed.
Definition pick (l : list fact) (i : nat) : fact := nth i l (NotLess, []).
Definition product_at (l : list fact) (k : list nat) : poly :=
  fold_right (fun i g => times (snd (pick l i)) g) one k.
Definition is_equal (y : fact) : bool := match fst y with Equal => true | _ => false end.
Definition is_greater (y : fact) : bool := match fst y with Greater => true | _ => false end.
Definition not_negative (f : poly) : bool :=
  match f with [] => true | [(c, [])] => Qle_bool 0 c | _ => false end.
Definition check_excluded (n : nat) (l : list condition) (squares : list formula)
  (terms : list (formula * list nat)) (positive : list nat) : bool :=
  match facts n l with
  | None => false
  | Some k =>
      let all := k ++ map (fun f => match expand n f with Some x => (NotLess, times x x) | None => (NotLess, []) end) squares in
      forallb (fun i => is_greater (pick all i)) positive &&
      forallb (fun y => match expand n (fst y) with
                        | Some x => existsb (fun i => is_equal (pick all i)) (snd y) || not_negative x
                        | None => false end) terms &&
      null (fold_right (fun y g => match expand n (fst y) with
                                   | Some x => plus (times x (product_at all (snd y))) g
                                   | None => g end) (product_at all positive) terms)
  end.
Lemma pick_fact e l i : all_facts e l -> is_fact e (pick l i).
Proof.
  unfold pick. revert i. induction l as [|y l IH]; intros [|i] H; simpl in *;
    try (unfold is_fact; simpl; lra); destruct H; auto.
Qed.
Lemma product_pick_nonneg e l k : all_facts e l -> 0 <= at_ e (product_at l k).
Proof.
  intros H. induction k as [|i k IH]; cbn [product_at fold_right]; [rewrite one_at; lra|].
  rewrite times_at. apply Rmult_le_pos; auto. pose proof (pick_fact e l i H) as F.
  unfold is_fact in F. destruct (fst (pick l i)); lra.
Qed.
Lemma product_pick_pos e l k : all_facts e l -> forallb (fun i => is_greater (pick l i)) k = true ->
  0 < at_ e (product_at l k).
Proof.
  intros H. induction k as [|i k IH]; cbn [product_at fold_right forallb]; intros K; [rewrite one_at; lra|].
  apply andb_prop in K as [K1 K2]. rewrite times_at. apply Rmult_lt_0_compat; auto.
  pose proof (pick_fact e l i H) as F. unfold is_fact in F. unfold is_greater in K1.
  destruct (fst (pick l i)); [auto|discriminate|discriminate].
Qed.
Lemma product_pick_zero e l k : all_facts e l -> existsb (fun i => is_equal (pick l i)) k = true ->
  at_ e (product_at l k) = 0.
Proof.
  intros H. induction k as [|i k IH]; cbn [product_at fold_right existsb]; [discriminate|]. intros K.
  rewrite times_at. apply orb_prop in K as [K|K]; [|unfold product_at in IH; rewrite IH by auto; ring].
  pose proof (pick_fact e l i H) as F. unfold is_fact in F. unfold is_equal in K.
  destruct (fst (pick l i)); [discriminate|discriminate|]. rewrite F. ring.
Qed.
Theorem excluded_right e l squares terms positive :
  check_excluded (length e) l squares terms positive = true -> all_hold e l -> False.
Proof.
  unfold check_excluded. destruct (facts (length e) l) as [k|] eqn:K; [|discriminate]. cbv zeta.
  intros H A. apply andb_prop in H as [H Z]. apply andb_prop in H as [P T].
  apply (facts_right e l k K) in A. revert P T Z.
  set (all := k ++ _). intros P T Z.
  assert (B : all_facts e all).
  { unfold all. clear - A. induction k as [|y k IH]; cbn [app].
    - clear A. induction squares as [|f l IH]; cbn [map all_facts]; auto. split; auto.
      unfold is_fact. destruct (expand (length e) f); cbn [fst snd]; [|simpl; lra].
      rewrite times_at. apply Rle_0_sqr.
    - destruct A as [A1 A2]. split; auto. }
  clear A K. apply (null_at e) in Z. revert Z.
  assert (G : 0 < at_ e (product_at all positive)) by (apply product_pick_pos; auto).
  apply Rgt_not_eq. red.
  induction terms as [|[f i] terms IH]; cbn [fold_right]; auto.
  cbn [forallb fst snd] in T. apply andb_prop in T as [T1 T2]. specialize (IH T2). cbn [fst snd].
  destruct (expand (length e) f) as [x|] eqn:X; [|auto]. rewrite plus_at, times_at.
  apply orb_prop in T1 as [T1|T1].
  - rewrite (product_pick_zero e all i) by auto. lra.
  - pose proof (product_pick_nonneg e all i B).
    assert (0 <= at_ e x).
    { destruct x as [|[c [|? ?]] [|? ?]]; simpl in T1; try discriminate; [simpl; lra|].
      cbn [at_]. rewrite power_nil. apply Qle_bool_iff, Qle_Rle in T1. rewrite Q2R_0 in T1. lra. }
    assert (0 <= at_ e x * at_ e (product_at all i)) by (apply Rmult_le_pos; auto). lra.
Qed.

(** * Proofs of side conditions *)

(* the names lie in the box, as the theorem says *)
Ltac bounds := cbn [inside above below fst snd]; repeat split;
  first [exact I | unfold Q2R; cbn [Qnum Qden]; lra].
(* no denominator is 0: a number, or one that the theorem excludes *)
Ltac no_zero := cbn [defined value nth]; repeat split; first [exact I | assumption | lra].
