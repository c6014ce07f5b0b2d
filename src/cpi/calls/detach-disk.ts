export * from '../call/real-call.ts';
export { detachDisk as verb } from '../disk/detach-disk.ts';
