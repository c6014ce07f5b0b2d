import { compileCache } from './ensure-installed.mjs';

/** Hundreds of short processes load the same sources, so Node caches the compiled code. Not for benches. */
export const testEnvironment = {
  ...process.env,
  NODE_COMPILE_CACHE: compileCache,
};
