import { describeProviderOn } from './provider-suite.ts'

await describeProviderOn('bwrap')
