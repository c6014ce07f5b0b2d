export * from '../call/real-call.ts';
export { hasDisk as verb } from '../disk/has-disk.ts';
