export * from '../call/real-call.ts';
export { getDisks as verb } from '../disk/get-disks.ts';
