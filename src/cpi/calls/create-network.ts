export * from '../call/real-call.ts';
export { createNetwork as verb } from '../network/create-network.ts';
