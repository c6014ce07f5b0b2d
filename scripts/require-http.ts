import type { Plugin } from 'esbuild';

const name = 'node:http';

/**
 * Replaces `import` of node:http by `require` in a bundle of ECMAScript modules that has `require`. An import
 * makes Node 24 evaluate all exports, among them WebSocket, which loads a separate library (undici) for each
 * short command. `require` does not.
 */
export const requireHttp: Plugin = {
  name: 'require-http',
  setup(bundler) {
    bundler.onResolve({ filter: /^node:http$/ }, ({ kind }) =>
      kind === 'require-call' ? { path: name, external: true } : { path: name, namespace: 'required' },
    );
    bundler.onLoad({ filter: /./, namespace: 'required' }, () => ({
      contents: `module.exports = require(${JSON.stringify(name)});`,
    }));
  },
};
