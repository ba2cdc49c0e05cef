"""How many evaluations will a race like this pilot need, and what can be found within a budget?"""

from bestarm.planning.outcome import FoundLead, Plan, PlannedRule
from bestarm.planning.planner import plan, refining_plans

__all__ = ["FoundLead", "Plan", "PlannedRule", "plan", "refining_plans"]
