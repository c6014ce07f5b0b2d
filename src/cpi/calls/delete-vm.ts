export * from '../call/real-call.ts';
export { deleteVm as verb } from '../vm/delete-vm.ts';
