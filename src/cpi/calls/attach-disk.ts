export * from '../call/real-call.ts';
export { attachDisk as verb } from '../disk/attach-disk.ts';
