export * from '../call/real-call.ts';
export { deleteSnapshot as verb } from '../snapshot/delete-snapshot.ts';
