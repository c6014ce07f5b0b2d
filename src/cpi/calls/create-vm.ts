export * from '../call/real-call.ts';
export { createVm as verb } from '../vm/create-vm.ts';
