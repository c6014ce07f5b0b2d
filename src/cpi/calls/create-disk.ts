export * from '../call/real-call.ts';
export { createDisk as verb } from '../disk/create-disk.ts';
