export * from '../call/real-call.ts';
export { deleteDisk as verb } from '../disk/delete-disk.ts';
