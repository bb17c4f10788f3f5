// A survey meets all that the rules tell apart.

import Paths
import Policy
import Testing

struct ZoneSurveyTests {
  @Test func `each path that a survey shows lies in the zone that it says`() throws {
    let engine = try PolicyEngine([ShippedProfiles.ios, ShippedProfiles.standard])
    var survey = ZoneSurvey([engine])
    var patterns: Set<String> = []
    survey.walk { _, place in
      patterns.insert(place.pattern)
      #expect(engine.zone(of: place.path) == place.zones[0], "\(place.pattern)")
    }
    #expect(survey.isComplete)
    for pattern in ["/", "/Documents", "/*.app", "/.*", "/Notes.app/*", "/Library/Preferences/*"] {
      #expect(patterns.contains(pattern), "\(pattern)")
    }
  }

  @Test func `on random rules, of all paths none has a zone that was not met`() throws {
    for seed in UInt64(1)...40 {
      var random = RandomPolicy(seed: seed, ruleCount: 4)
      let engine = try PolicyEngine(random.layers)
      var survey = ZoneSurvey([engine])
      var met: Set<ZoneID> = []
      survey.walk { _, place in met.insert(place.zones[0]) }
      #expect(survey.isComplete)
      for _ in 0..<300 {
        let path = random.path()
        let isReached = (0..<path.count).allSatisfy {
          !engine.attributes(of: engine.zone(of: Array(path[..<$0]))).hidden
        }
        guard isReached else { continue }
        let isMet = met.contains(engine.zone(of: path))
        #expect(isMet, "seed \(seed): \(Presentation.path(path))")
      }
    }
  }

  @Test func `two policies are walked side by side`() throws {
    let one = try PolicyEngine("/a read\n/a/*.c write")
    let other = try PolicyEngine("/a read\n/a/x* write")
    var survey = ZoneSurvey([one, other])
    var answers: Set<[Bool]> = []
    survey.walk { _, place in
      answers.insert([one, other].enumerated().map { $1.attributes(of: place.zones[$0]).write })
    }
    #expect(answers == [[false, false], [true, false], [false, true], [true, true]])
  }
}
