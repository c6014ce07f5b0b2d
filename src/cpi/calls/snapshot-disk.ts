export * from '../call/real-call.ts';
export { snapshotDisk as verb } from '../snapshot/snapshot-disk.ts';
