// What every call but `info` needs, loaded at once: each file that is loaded by itself costs a call 0.1 ms.
export { openSession } from '../session.ts';
export { resolveCall, resultInContext } from './resolve-call.ts';
export { signatures } from './signatures.ts';
