export * from '../call/real-call.ts';
export { rebootVm as verb } from '../vm/reboot-vm.ts';
