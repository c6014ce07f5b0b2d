import { compileCache } from './ensure-installed.mjs';

/** Hundreds of short processes load the same sources: Node keeps what it makes of them. Not for benches. */
export const testEnvironment = {
  ...process.env,
  NODE_COMPILE_CACHE: compileCache,
};
