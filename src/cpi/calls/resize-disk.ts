export * from '../call/real-call.ts';
export { resizeDisk as verb } from '../disk/resize-disk.ts';
