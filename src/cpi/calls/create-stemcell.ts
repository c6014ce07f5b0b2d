export * from '../call/real-call.ts';
export { createStemcell as verb } from '../stemcell/create-stemcell.ts';
