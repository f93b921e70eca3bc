/* The directions of all methods for two objectives, from the 2×2 Gram matrix: no page, no drawing.
 *
 * Every function follows the Python solver of the same purpose, operation by operation, so that both
 * give the same numbers also where gradients vanish, cancel or differ by many orders of magnitude.
 * A Gram matrix is {first: ‖g1‖², cross: g1·g2, second: ‖g2‖²}; weights are pairs [w1, w2], and the
 * direction is d = w1 g1 + w2 g2. An optimizer steps along −d.
 */
(function () {
  "use strict";

  /** What a float64 Gram matrix resolves, relative to squared lengths. */
  const RESOLUTION = 1e-14;
  /** A gradient counts as zero when its squared length is not a normal float64. */
  const SMALLEST_SQUARE = 2.2250738585072014e-308;
  /** A loss nearer to its lower bound counts as this far from it (MGDA's loss normalisations). */
  const SMALLEST_LOSS = 1e-8;

  function gramOf(g1, g2) {
    return {
      first: g1[0] * g1[0] + g1[1] * g1[1],
      cross: g1[0] * g2[0] + g1[1] * g2[1],
      second: g2[0] * g2[0] + g2[1] * g2[1],
    };
  }

  /** Fixed weights; convex: (1−λ, λ), penalty: (1, λ). */
  function weightedSum(gram, { weight = 0.5, form = "convex" }) {
    return form === "penalty" ? [1, weight] : [1 - weight, weight];
  }

  /** The shortest point of the segment from g1 to g2. */
  function minNormPoint(gram) {
    const fromFirst = gram.first - gram.cross;
    const fromSecond = gram.second - gram.cross;
    if (fromFirst <= 0 || fromSecond <= 0) return gram.first <= gram.second ? [1, 0] : [0, 1];
    const total = fromFirst + fromSecond;
    return [fromSecond / total, fromFirst / total];
  }

  /** MGDA: the shortest convex combination of g_i/n_i, with n_i 1, ‖g_i‖, ℓ_i or ℓ_i ‖g_i‖. */
  function mgda(gram, { normalization = "none" }, losses) {
    if (normalization === "none") return minNormPoint(gram);
    const divisors = [gram.first, gram.second].map((square, i) => {
      const length = square > 0 ? Math.sqrt(square) : 1;
      const norm = normalization === "loss" ? 1 : length;
      return normalization === "l2" ? norm : norm * Math.max(losses[i], SMALLEST_LOSS);
    });
    const [n1, n2] = divisors;
    const weights = minNormPoint({
      first: gram.first / (n1 * n1),
      cross: gram.cross / (n1 * n2),
      second: gram.second / (n2 * n2),
    });
    return [weights[0] / n1, weights[1] / n2];
  }

  /** PCGrad: each gradient is projected off the other where they conflict. One order only for K = 2. */
  function pcgrad(gram) {
    if (!(gram.cross < 0)) return [1, 1];
    return [
      gram.first >= SMALLEST_SQUARE ? 1 - gram.cross / gram.first : 1,
      gram.second >= SMALLEST_SQUARE ? 1 - gram.cross / gram.second : 1,
    ];
  }

  /** CAGrad: the best worst improvement in the ball ‖d − g0‖ ≤ c‖g0‖ around the mean g0. */
  function cagrad(gram, { c = 0.4, rescale = "none" }) {
    const weights = conflictAverse(gram, c);
    const divisor = rescale === "1+c^2" ? 1 + c * c : rescale === "1+c" ? 1 + c : 1;
    return weights.map((weight) => weight / divisor);
  }

  function conflictAverse({ first, cross, second }, c) {
    if (first < SMALLEST_SQUARE || second < SMALLEST_SQUARE) {
      const weight = first >= SMALLEST_SQUARE || second >= SMALLEST_SQUARE ? 0.5 : 0;
      return [weight, weight];
    }
    const long = 1;
    const short =
      first > second ? Math.sqrt(second) / Math.sqrt(first) : Math.sqrt(first) / Math.sqrt(second);
    const cosine = cross / Math.sqrt(first) / Math.sqrt(second);
    const gap = (long - short) * (long - short);
    const meanSquare = 0.25 * (gap + 2 * long * short * (1 + cosine));
    if (meanSquare <= 0.25 * RESOLUTION * (long + short) * (long + short)) return [0, 0];
    const radius = c * Math.sqrt(meanSquare);
    const offset = 0.5 * (long - short) * (long + short);
    const distanceSquare = gap + 2 * long * short * (1 - cosine);
    let ofShort, ofLong;
    if (offset >= radius * (short - cosine * long)) {
      [ofShort, ofLong] = [0.5 + radius / short, 0.5];
    } else if (distanceSquare <= RESOLUTION) {
      ofShort = ofLong = 0.5 * (1 + c);
    } else {
      ofShort = (long * (long - cosine * short)) / distanceSquare;
      ofLong = (short * (short - cosine * long)) / distanceSquare;
      const squaredSine = (1 - cosine) * (1 + cosine);
      if (squaredSine > RESOLUTION) {
        const leastNorm = long * short * Math.sqrt(squaredSine / distanceSquare);
        const rest = Math.max(radius * radius - (offset * offset) / distanceSquare, 0);
        const stretch = 1 + Math.sqrt(rest) / leastNorm;
        [ofShort, ofLong] = [ofShort * stretch, ofLong * stretch];
      }
    }
    return first > second ? [ofLong, ofShort] : [ofShort, ofLong];
  }

  /** FAMO at its start, ξ = 0: weights ∝ 1/(ℓ_i − b_i), summing to one. `losses` are the gaps ℓ_i − b_i. */
  function famo(gram, { floor = 1e-8 }, losses) {
    const rates = losses.map((loss) => 0.5 / Math.max(loss, floor));
    const total = rates[0] + rates[1];
    return rates.map((rate) => rate / total);
  }

  /** AuxiNash: α > 0 with G α = p ⊘ α, clipped to length `maxNorm`; zero where no solution exists. */
  function auxinash(gram, { p = 0.5, maxNorm = 1 }) {
    const alpha = bargain(gram, p, 1 - p);
    const [a1, a2] = alpha;
    const along1 = a1 * gram.first + a2 * gram.cross;
    const along2 = a1 * gram.cross + a2 * gram.second;
    const length = Math.sqrt(Math.max(0, along1 * a1 + along2 * a2));
    return length > maxNorm ? alpha.map((value) => value * (maxNorm / length)) : alpha;
  }

  function bargain({ first, cross, second }, p1, p2) {
    const total = p1 + p2;
    if (first < SMALLEST_SQUARE || second < SMALLEST_SQUARE) {
      // a zero gradient has nothing to bargain for; the other gets its power
      return [
        first >= SMALLEST_SQUARE ? Math.sqrt(total) / Math.sqrt(first) : 0,
        second >= SMALLEST_SQUARE ? Math.sqrt(total) / Math.sqrt(second) : 0,
      ];
    }
    const norm1 = Math.sqrt(first);
    const norm2 = Math.sqrt(second);
    const cosine = cross / norm1 / norm2;
    // ρ = z1/z2 is the positive root of p2 ρ² − c (p1 − p2) ρ − p1 = 0
    const half = 0.5 * cosine * (p1 - p2);
    const root = Math.sqrt(half * half + p1 * p2);
    const ratio = half >= 0 ? (half + root) / p2 : p1 / (root - half);
    const length = (1 - ratio) * (1 - ratio) + 2 * ratio * (1 + cosine);
    if (length <= RESOLUTION * (1 + ratio * ratio)) return [0, 0];
    const z = Math.sqrt(total / length);
    return [(ratio * z) / norm1, z / norm2];
  }

  /** PCD at its first step: g1 projected on {d : g̃2·d ≥ τ‖g̃2‖²}, then brought to the length of g1. */
  function pcd(gram, settings) {
    const { tau = 0.02, rescale = "primary" } = settings;
    const [s1, s2] = pcdScales([gram.first, gram.second], settings);
    // dividing the program by s1 gives the same program on the raw gradients with τ s2/s1 for τ
    const threshold = tau * (s2 / s1);
    let multiplier = gram.second >= SMALLEST_SQUARE ? threshold - gram.cross / gram.second : 0;
    multiplier = multiplier > 0 ? multiplier : 0;
    const demanded = multiplier * threshold * gram.second;
    const squaredLength = gram.first + multiplier * gram.cross + demanded;
    let scale;
    if (rescale === "none") scale = s1;
    else if (squaredLength > RESOLUTION * gram.first) scale = Math.sqrt(gram.first / squaredLength);
    else scale = demanded > 0 && gram.first > 0 ? Math.pow(RESOLUTION, -0.5) : 0;
    return [scale, scale * multiplier];
  }

  /** The factors s_i of g̃_i = s_i g_i; the moving average of one step, corrected for its bias, is ‖g_i‖². */
  function pcdScales(squares, settings) {
    const { normalization = "ema", beta = 0.999, epsilon = 1e-8, epsilonForm = "additive" } = settings;
    if (normalization === "none") return [1, 1];
    if (normalization === "unit") return squares.map((square) => (square > 0 ? 1 / Math.sqrt(square) : 1));
    const relative = epsilonForm === "relative";
    const correction = (1 / (1 - beta)) * (relative ? 1 + epsilon : 1);
    return squares.map((square) => {
      const normaliser = (1 - beta) * square * correction + (relative ? 0 : epsilon);
      return normaliser > 0 ? 1 / Math.sqrt(normaliser) : 1;
    });
  }

  const METHODS = { auxinash, cagrad, famo, mgda, pcd, pcgrad, ws: weightedSum };

  /** Return {weights, direction} of the method called `name`. `losses` are the two gaps ℓ_i − b_i. */
  function combine(name, g1, g2, settings = {}, losses = [1, 1]) {
    const [w1, w2] = METHODS[name](gramOf(g1, g2), settings, losses);
    return { weights: [w1, w2], direction: [w1 * g1[0] + w2 * g2[0], w1 * g1[1] + w2 * g2[1]] };
  }

  /** Return t such that PCD's constraint on the raw gradients is g2·d ≥ t‖g2‖². */
  function pcdThreshold(g1, g2, settings) {
    const gram = gramOf(g1, g2);
    const [s1, s2] = pcdScales([gram.first, gram.second], settings);
    return settings.tau * (s2 / s1);
  }

  /** Return the cosine of the angle between two vectors, null where one is zero. */
  function cosine(u, v) {
    const lengths = Math.hypot(u[0], u[1]) * Math.hypot(v[0], v[1]);
    return lengths > 0 ? Math.max(-1, Math.min(1, (u[0] * v[0] + u[1] * v[1]) / lengths)) : null;
  }

  /** Return the angle in degrees between two vectors, null where one is zero; exact also for tiny angles. */
  function angleBetween(u, v) {
    if (!Math.hypot(u[0], u[1]) || !Math.hypot(v[0], v[1])) return null;
    const turn = Math.atan2(u[0] * v[1] - u[1] * v[0], u[0] * v[0] + u[1] * v[1]);
    return (Math.abs(turn) * 180) / Math.PI;
  }

  window.mobenchDirections = { methods: Object.keys(METHODS), combine, pcdThreshold, cosine, angleBetween };
})();
