import type { Plugin } from 'esbuild';

const name = 'node:http';

/**
 * For a bundle in ECMAScript modules, which has `require`: an import of node:http makes Node 24 read all that it exports, and its
 * WebSocket is a library of its own (undici), which each short command would load. What is required is not read.
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
