export * from '../call/real-call.ts';
export { hasVm as verb } from '../vm/has-vm.ts';
