// What every call but `info` needs.
export { openSession } from '../session.ts';
export { resolveCall, resultInContext } from './resolve-call.ts';
export { signatures } from './signatures.ts';
