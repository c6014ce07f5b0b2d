export * from '../call/real-call.ts';
export { updateDisk as verb } from '../disk/update-disk.ts';
