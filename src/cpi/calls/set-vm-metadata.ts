export * from '../call/real-call.ts';
export { setVmMetadata as verb } from '../vm/set-vm-metadata.ts';
