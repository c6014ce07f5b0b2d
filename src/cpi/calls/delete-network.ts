export * from '../call/real-call.ts';
export { deleteNetwork as verb } from '../network/delete-network.ts';
