export * from '../call/real-call.ts';
export { setDiskMetadata as verb } from '../disk/set-disk-metadata.ts';
