// The conformance suite, for anyone's backend: the whole contract as sentences, each with a check that can fail.
// It promises that a skip is visible and has a reason, and that a required backend which is not there fails.
// It knows no backend by name and no test runner; node's own assertions are all it needs.
export type { CaseGroup, CaseMount, CaseSandboxOptions, CaseSpecOptions, ConformanceCase, Subject } from './case.ts'
export { conformanceCases, conformanceGroups } from './groups.ts'
export { providerCases, type ProviderCase, type ProviderLimits, type ProviderSubject } from './provider-cases.ts'
export { describeProvider, type DescribeProviderOptions } from './provider-suite.ts'
export { describeBackend, reasonToSkip, type DescribeBackendOptions, type TestRunner } from './suite.ts'
