export * from '../call/real-call.ts';
export { checkVm as verb } from '../vm/check-vm.ts';
