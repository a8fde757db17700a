/* Exact rationals on BigInt: {n, d} in lowest terms with d > 0. What a model writes as 19/20 stays that. */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  const abs = (x) => (x < 0n ? -x : x);
  function gcd(a, b) {
    while (b) [a, b] = [b, a % b];
    return a;
  }

  function fraction(n, d = 1n) {
    if (d === 0n) throw new RangeError("division by zero");
    const g = gcd(abs(n), abs(d)) || 1n, sign = d < 0n ? -1n : 1n;
    return { n: (sign * n) / g, d: (sign * d) / g };
  }

  const ZERO = fraction(0n), ONE = fraction(1n);
  const add = (x, y) => (x.n === 0n ? y : y.n === 0n ? x : fraction(x.n * y.d + y.n * x.d, x.d * y.d));
  const minus = (x) => ({ n: -x.n, d: x.d });
  const subtract = (x, y) => add(x, minus(y));
  const times = (x, y) => (x.n === 0n || y.n === 0n ? ZERO : fraction(x.n * y.n, x.d * y.d));
  const divide = (x, y) => fraction(x.n * y.d, x.d * y.n);
  const sign = (x) => (x.n > 0n ? 1 : x.n < 0n ? -1 : 0);

  /** A fraction from "17/20", "-5" or "0.25"; null if the text is none. */
  function parseFraction(text) {
    const found = /^([+-]?\d+)(?:\/(\d+))?$/.exec(String(text).trim().replace("\u2212", "-"));
    if (found) return found[2] !== undefined && BigInt(found[2]) === 0n ? null : fraction(BigInt(found[1]), BigInt(found[2] || "1"));
    const decimal = /^([+-]?)(\d*)\.(\d*)$/.exec(String(text).trim().replace("\u2212", "-"));
    if (!decimal || !(decimal[2] || decimal[3])) return null;
    return fraction(BigInt(`${decimal[1]}${decimal[2] || "0"}${decimal[3]}`), 10n ** BigInt(decimal[3].length));
  }

  const bits = (x) => x.toString(2).length;

  /** The nearest double, ties to even. Both parts may have any length. */
  function fractionNumber(x) {
    if (x.n === 0n) return 0;
    const n = abs(x.n), shift = BigInt(bits(x.d) - bits(n) + 55); // a quotient of 55 or 56 bits
    const top = shift > 0n ? n << shift : n, bottom = shift < 0n ? x.d << -shift : x.d;
    let q = top / bottom;
    if (top % bottom) q |= 1n; // sticky
    const drop = BigInt(bits(q) - 53), half = 1n << (drop - 1n), rest = q & ((1n << drop) - 1n);
    q >>= drop;
    if (rest > half || (rest === half && q & 1n)) q += 1n;
    const value = Number(q) * 2 ** Number(drop - shift);
    return x.n < 0n ? -value : value;
  }

  const fractionText = (x) => `${x.n}${x.d === 1n ? "" : `/${x.d}`}`.replace("-", "\u2212");

  /** x of x = b + K x, K[i] a Map from column to fraction, by elimination. Throws if it has no unique solution. */
  function solveExactly(K, b) {
    const n = b.length, rows = K.map((row, i) => {
      const own = new Map();
      row.forEach((x, j) => { if (x.n !== 0n) own.set(j, minus(x)); });
      own.set(i, add(ONE, own.get(i) || ZERO));
      return own;
    });
    const right = b.slice(), order = [], left = new Set(rows.keys());
    while (left.size) {
      let k = -1;
      for (const i of left) if ((rows[i].get(i) || ZERO).n !== 0n && (k < 0 || rows[i].size < rows[k].size)) k = i;
      if (k < 0) throw new RangeError("the system has no unique solution");
      left.delete(k);
      order.push(k);
      const pivot = rows[k].get(k);
      for (const i of left) {
        const x = rows[i].get(k);
        if (!x || x.n === 0n) { rows[i].delete(k); continue; }
        const share = divide(x, pivot);
        rows[i].delete(k);
        rows[k].forEach((y, j) => { if (j !== k) rows[i].set(j, subtract(rows[i].get(j) || ZERO, times(share, y))); });
        right[i] = subtract(right[i], times(share, right[k]));
      }
    }
    const x = new Array(n).fill(ZERO);
    for (const k of order.reverse()) {
      let total = right[k];
      rows[k].forEach((y, j) => { if (j !== k) total = subtract(total, times(y, x[j])); });
      x[k] = divide(total, rows[k].get(k));
    }
    return x;
  }

  Object.assign(W, { Fraction: { of: fraction, ZERO, ONE, add, subtract, times, divide, sign, minus }, parseFraction, fractionNumber, fractionText, solveExactly });
})(Workbench);
