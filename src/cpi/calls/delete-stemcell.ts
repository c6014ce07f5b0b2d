export * from '../call/real-call.ts';
export { deleteStemcell as verb } from '../stemcell/delete-stemcell.ts';
