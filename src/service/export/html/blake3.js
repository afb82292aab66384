// BLAKE3 with 32 bytes of output: the plain hash, and key derivation. After section 2 of the BLAKE3 paper.
// Takes and gives Uint8Array; knows nothing of transcripts.
const blake3 = (() => {
  const BLOCK = 64, CHUNK = 1024;
  const CHUNK_START = 1, CHUNK_END = 2, PARENT = 4, ROOT = 8, DERIVE_CONTEXT = 32, DERIVE_MATERIAL = 64;
  const IV = Int32Array.of(
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19);
  const PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

  // Which message word each of the 7 rounds reads at each of its 16 places.
  const SCHEDULE = (() => {
    const rounds = [...Array(16).keys()];
    for (let at = 0; at < 6 * 16; at++) rounds.push(rounds[Math.floor(at / 16) * 16 + PERMUTATION[at % 16]]);
    return Uint8Array.from(rounds);
  })();

  const state = new Int32Array(16), words = new Int32Array(16);

  function mix(a, b, c, d, x, y) {
    let va = state[a], vb = state[b], vc = state[c], vd = state[d];
    va = (va + vb + x) | 0; vd ^= va; vd = (vd >>> 16) | (vd << 16);
    vc = (vc + vd) | 0; vb ^= vc; vb = (vb >>> 12) | (vb << 20);
    va = (va + vb + y) | 0; vd ^= va; vd = (vd >>> 8) | (vd << 24);
    vc = (vc + vd) | 0; vb ^= vc; vb = (vb >>> 7) | (vb << 25);
    state[a] = va; state[b] = vb; state[c] = vc; state[d] = vd;
  }

  // The next chaining value of `cv` over the message in `words`, written to `out`.
  function compress(cv, counter, length, flags, out) {
    for (let i = 0; i < 8; i++) state[i] = cv[i];
    state[8] = IV[0]; state[9] = IV[1]; state[10] = IV[2]; state[11] = IV[3];
    state[12] = counter | 0; state[13] = Math.floor(counter / 2 ** 32);
    state[14] = length; state[15] = flags;
    for (let at = 0; at < 7 * 16; at += 16) {
      mix(0, 4, 8, 12, words[SCHEDULE[at]], words[SCHEDULE[at + 1]]);
      mix(1, 5, 9, 13, words[SCHEDULE[at + 2]], words[SCHEDULE[at + 3]]);
      mix(2, 6, 10, 14, words[SCHEDULE[at + 4]], words[SCHEDULE[at + 5]]);
      mix(3, 7, 11, 15, words[SCHEDULE[at + 6]], words[SCHEDULE[at + 7]]);
      mix(0, 5, 10, 15, words[SCHEDULE[at + 8]], words[SCHEDULE[at + 9]]);
      mix(1, 6, 11, 12, words[SCHEDULE[at + 10]], words[SCHEDULE[at + 11]]);
      mix(2, 7, 8, 13, words[SCHEDULE[at + 12]], words[SCHEDULE[at + 13]]);
      mix(3, 4, 9, 14, words[SCHEDULE[at + 14]], words[SCHEDULE[at + 15]]);
    }
    for (let i = 0; i < 8; i++) out[i] = state[i] ^ state[i + 8];
  }

  // Message words are little-endian; what a block lacks is zero.
  function load(input, from, to) {
    for (let i = 0, at = from; i < 16; i++, at += 4) {
      words[i] = at + 4 <= to
        ? input[at] | (input[at + 1] << 8) | (input[at + 2] << 16) | (input[at + 3] << 24)
        : (at < to ? input[at] : 0) | (at + 1 < to ? input[at + 1] << 8 : 0) | (at + 2 < to ? input[at + 2] << 16 : 0);
    }
  }

  // The chaining value of one chunk.
  function chunk(input, from, to, counter, key, flags, root) {
    const cv = Int32Array.from(key);
    let at = from;
    do {
      const end = Math.min(at + BLOCK, to);
      load(input, at, end);
      const last = end === to;
      const marks = (at === from ? CHUNK_START : 0) | (last ? CHUNK_END | root : 0);
      compress(cv, counter, end - at, flags | marks, cv);
      at = end;
    } while (at < to);
    return cv;
  }

  function parent(left, right, key, flags) {
    words.set(left, 0);
    words.set(right, 8);
    const cv = new Int32Array(8);
    compress(key, 0, BLOCK, flags | PARENT, cv);
    return cv;
  }

  function digest(input, key, flags) {
    const chunks = Math.max(1, Math.ceil(input.length / CHUNK));
    let top;
    if (chunks === 1) {
      top = chunk(input, 0, input.length, 0, key, flags, ROOT);
    } else {
      // Subtrees of falling size wait on the stack; a chunk completes as many as its number has trailing zeros.
      const stack = [];
      let number = 0;
      for (; number < chunks - 1; number++) {
        let cv = chunk(input, number * CHUNK, (number + 1) * CHUNK, number, key, flags, 0);
        for (let total = number + 1; total % 2 === 0; total /= 2) cv = parent(stack.pop(), cv, key, flags);
        stack.push(cv);
      }
      top = chunk(input, number * CHUNK, input.length, number, key, flags, 0);
      while (stack.length > 0) top = parent(stack.pop(), top, key, flags | (stack.length === 0 ? ROOT : 0));
    }
    const out = new Uint8Array(32);
    for (let i = 0; i < 32; i++) out[i] = top[i >> 2] >>> (8 * (i & 3));
    return out;
  }

  const keys = new Map();
  function contextKey(context) {
    if (!keys.has(context)) {
      const bytes = digest(new TextEncoder().encode(context), IV, DERIVE_CONTEXT);
      load(bytes, 0, 32);
      keys.set(context, words.slice(0, 8));
    }
    return keys.get(context);
  }

  return {
    hash: (input) => digest(input, IV, 0),
    deriveKey: (context, material) => digest(material, contextKey(context), DERIVE_MATERIAL),
  };
})();
