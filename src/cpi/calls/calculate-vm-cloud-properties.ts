export * from '../call/real-call.ts';
export { calculateVmCloudProperties as verb } from '../vm/calculate-vm-cloud-properties.ts';
