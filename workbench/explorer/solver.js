/* Sparse linear systems x = b + K x with a substochastic K, solved by elimination of states.
 *
 * The places that can be nonzero are known for a model; which of them are depends on the policy. So the order of elimination
 * (least neighbours first) and the fill-in are found once for each model, the numbers for each policy. I - K is an M-matrix:
 * its diagonal can be trusted and no pivoting is needed.
 */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  /** Compressed rows from a list of sorted column lists. */
  function compress(rows) {
    const ptr = new Int32Array(rows.length + 1);
    rows.forEach((row, i) => { ptr[i + 1] = ptr[i] + row.length; });
    const col = new Int32Array(ptr[rows.length]);
    rows.forEach((row, i) => col.set(row, ptr[i]));
    return { ptr, col };
  }

  /** The order of elimination and the places of L and U, for a pattern of K in compressed rows. */
  function analyse(pattern) {
    const n = pattern.ptr.length - 1;
    const near = Array.from({ length: n }, () => new Set());
    for (let i = 0; i < n; i++) {
      for (let t = pattern.ptr[i]; t < pattern.ptr[i + 1]; t++) {
        const j = pattern.col[t];
        if (i !== j) { near[i].add(j); near[j].add(i); }
      }
    }
    const place = new Int32Array(n).fill(-1);
    const later = [];
    for (let step = 0; step < n; step++) {
      let v = -1;
      for (let i = 0; i < n; i++) if (place[i] < 0 && (v < 0 || near[i].size < near[v].size)) v = i;
      place[v] = step;
      const around = Array.from(near[v]);
      later.push(around);
      for (const u of around) {
        near[u].delete(v);
        for (const w of around) if (w !== u) near[u].add(w);
      }
      near[v] = null;
    }
    const upper = later.map((around) => around.map((u) => place[u]).sort((x, y) => x - y));
    const lower = Array.from({ length: n }, () => []);
    upper.forEach((row, k) => row.forEach((i) => lower[i].push(k)));
    return { n, place, pattern, U: compress(upper), L: compress(lower) };
  }

  /** LU of I - scale K; rows whose `out` is set count as empty. Returns solvers for it and for its transpose. */
  function factor(symbolic, data, scale, out) {
    const { n, place, pattern, U, L } = symbolic;
    const at = new Int32Array(n);
    for (let i = 0; i < n; i++) at[place[i]] = i;
    const diagonal = new Float64Array(n), upper = new Float64Array(U.col.length), lower = new Float64Array(L.col.length);
    const work = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const row = at[i];
      for (let t = L.ptr[i]; t < L.ptr[i + 1]; t++) work[L.col[t]] = 0;
      for (let t = U.ptr[i]; t < U.ptr[i + 1]; t++) work[U.col[t]] = 0;
      work[i] = 1;
      if (!out || !out[row]) {
        for (let t = pattern.ptr[row]; t < pattern.ptr[row + 1]; t++) work[place[pattern.col[t]]] -= scale * data[t];
      }
      for (let t = L.ptr[i]; t < L.ptr[i + 1]; t++) {
        const k = L.col[t];
        if (work[k] === 0) continue;
        const share = work[k] / diagonal[k];
        lower[t] = share;
        for (let j = U.ptr[k]; j < U.ptr[k + 1]; j++) work[U.col[j]] -= share * upper[j];
      }
      diagonal[i] = work[i];
      for (let t = U.ptr[i]; t < U.ptr[i + 1]; t++) upper[t] = work[U.col[t]];
    }

    function solve(b) {
      const x = new Float64Array(n);
      for (let i = 0; i < n; i++) x[place[i]] = b[i];
      for (let i = 0; i < n; i++) for (let t = L.ptr[i]; t < L.ptr[i + 1]; t++) x[i] -= lower[t] * x[L.col[t]];
      for (let i = n - 1; i >= 0; i--) {
        for (let t = U.ptr[i]; t < U.ptr[i + 1]; t++) x[i] -= upper[t] * x[U.col[t]];
        x[i] /= diagonal[i];
      }
      return Float64Array.from({ length: n }, (_, i) => x[place[i]]);
    }

    function solveTransposed(b) {
      const x = new Float64Array(n);
      for (let i = 0; i < n; i++) x[place[i]] = b[i];
      for (let i = 0; i < n; i++) {
        x[i] /= diagonal[i];
        for (let t = U.ptr[i]; t < U.ptr[i + 1]; t++) x[U.col[t]] -= upper[t] * x[i];
      }
      for (let i = n - 1; i >= 0; i--) for (let t = L.ptr[i]; t < L.ptr[i + 1]; t++) x[L.col[t]] -= lower[t] * x[i];
      return Float64Array.from({ length: n }, (_, i) => x[place[i]]);
    }

    return { solve, solveTransposed };
  }

  /** The mask of the nodes that can be reached from some nodes along the nonzero entries; backwards if asked. */
  function reachable(pattern, data, starts, backwards) {
    const n = pattern.ptr.length - 1;
    const out = Array.from({ length: n }, () => []);
    for (let i = 0; i < n; i++) {
      for (let t = pattern.ptr[i]; t < pattern.ptr[i + 1]; t++) {
        if (data[t] === 0) continue;
        if (backwards) out[pattern.col[t]].push(i); else out[i].push(pattern.col[t]);
      }
    }
    const seen = new Uint8Array(n), queue = [];
    for (const i of starts) if (!seen[i]) { seen[i] = 1; queue.push(i); }
    while (queue.length) for (const j of out[queue.pop()]) if (!seen[j]) { seen[j] = 1; queue.push(j); }
    return seen;
  }

  Object.assign(W, { compress, analyse, factor, reachable });
})(Workbench);
